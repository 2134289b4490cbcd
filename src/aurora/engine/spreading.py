"""Who helps with large work: what the settings say, as an object."""

from __future__ import annotations

from collections.abc import Callable

from aurora.config.schema import IndexingSettings
from aurora.embeddings.base import EmbeddingProvider
from aurora.indexing.elsewhere import Elsewhere


def find_elsewhere(
    settings: IndexingSettings, make: Callable[[], EmbeddingProvider]
) -> Elsewhere | None:
    """The cluster, if one is named; else processes of this machine; None where one is enough.

    Nothing is started or asked before there is work.
    """
    if settings.ray:
        from aurora.indexing.ray_cluster import RayCluster  # noqa: PLC0415 - few have one

        return Elsewhere(RayCluster(settings.ray), make)
    if settings.workers > 1:
        from aurora.indexing.spreading import LocalProcesses  # noqa: PLC0415 - not for one

        return Elsewhere(LocalProcesses(settings.workers), make)
    return None
