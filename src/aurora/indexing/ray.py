"""Embeds on the machines of a Ray cluster: the extra `ray`.

This machine must belong to the cluster (`ray start --address …`), and all machines need the same
Python, Ray and Aurora. Ray schedules one task for each batch and repeats tasks of machines that
die. Only texts are sent, and only vectors come back: files and the store stay here.
"""

from __future__ import annotations

import platform
import signal
import socket
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager, suppress
from itertools import islice
from typing import Any, TypeAlias

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError, ClusterError
from aurora.indexing.embedding import ChunkText, LabelRows, Results, Vectors, try_vectors
from aurora.package_manager import install_command
from aurora.quick_classes import dataclass
from aurora.stores.base import Embedder

Ray: TypeAlias = Any  # the package `ray`: its own types say little

AHEAD = 2  # batches for each processor: one in work, one waiting
_CONNECT_S = 5.0  # for a head that does not answer; Ray itself would wait for a minute
_START_S = 60.0  # for a free processor: others may be using all of them


@dataclass(frozen=True, slots=True)
class RayEmbedder:
    """Embeds on the cluster whose head is at HOST:PORT. Its machines import and call `make`."""

    address: str
    make: Callable[[], EmbeddingProvider]

    def embed(self, embedder: Embedder, batches: Iterable[Sequence[ChunkText]]) -> Results:
        """See `RemoteEmbedder`. Batches are read as processors become free."""
        with _connected(self.address) as ray:
            task = ray.remote(_embed).options(num_cpus=1, scheduling_strategy="SPREAD")
            job = (uuid.uuid4().hex, self.make, embedder)
            _require_free(ray)
            source = iter(batches)
            ahead = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            running = deque(task.remote(*job, batch) for batch in islice(source, ahead))
            while running:
                vectors = _result(ray, running.popleft())
                running.extend(task.remote(*job, batch) for batch in islice(source, 1))
                yield vectors


def _require_free(ray: Ray) -> None:
    """Wait until a task can run."""
    ready, _ = ray.wait([ray.remote(platform.node).options(num_cpus=1).remote()], timeout=_START_S)
    if not ready:
        raise ClusterError(
            f"No processor of the Ray cluster was free for {_START_S:.0f} seconds",
            hint="see `ray status`",
        )


def _result(ray: Ray, task: Any) -> Vectors | None:
    """The result of a task. Raises what the task raised."""
    while not ray.wait([task], timeout=_START_S)[0]:
        if not ray.cluster_resources().get("CPU"):
            raise ClusterError("The Ray cluster has no processor left", hint="see `ray status`")
    try:
        vectors: Vectors | None = ray.get(task)
    except ray.exceptions.RayTaskError as exc:
        raise exc.cause from None
    except ray.exceptions.RayError as exc:  # after Ray tried again
        raise ClusterError(f"The Ray cluster lost a task: {exc}", hint="see `ray status`") from exc
    return vectors


class _Worker:
    """The model that a process of the cluster has loaded, until it serves another job."""

    job = ""
    provider: EmbeddingProvider
    labels: LabelRows


def _embed(
    job: str, make: Callable[[], EmbeddingProvider], embedder: Embedder, texts: Sequence[ChunkText]
) -> Vectors | None:
    """One task, in a process of the cluster, which loads the model with its first task."""
    if _Worker.job != job:
        _Worker.provider, _Worker.labels = load_same(make, embedder), {}
        _Worker.job = job
    return try_vectors(_Worker.provider, texts, _Worker.labels)


def load_same(make: Callable[[], EmbeddingProvider], embedder: Embedder) -> EmbeddingProvider:
    """The provider on this machine. `ClusterError` if it is missing or another model."""
    try:
        provider = make()
        here = Embedder(provider.name, provider.dimension, provider.fingerprint)
    except Exception as exc:  # the model or its package is missing
        reason = exc.in_one_line if isinstance(exc, AuroraError) else repr(exc)
        raise ClusterError(f"On {platform.node()} nothing can be embedded: {reason}") from exc
    if here != embedder:
        raise ClusterError(
            f"On {platform.node()} the model is {here.name} ({here.fingerprint}), "
            f"not {embedder.name} ({embedder.fingerprint})",
            hint="give all machines the same model and the same version of Aurora",
        )
    return provider


@contextmanager
def _connected(address: str) -> Iterator[Ray]:
    """Ray, connected to the cluster. A connection of the program itself is used and kept."""
    try:
        import ray  # noqa: PLC0415 - an extra, and 0.7 s to import
    except ImportError as exc:
        raise ClusterError(
            "`indexing.ray` is set, and the package ray is not installed",
            hint=f"{install_command('ray')}, or unset `indexing.ray`",
        ) from exc
    if ray.is_initialized():
        yield ray
        return
    _require_reachable(address)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(sys.prefix):  # workers import from this folder: never from a stranger's clone
            ray.init(address, log_to_driver=False, configure_logging=False)
    except Exception as exc:  # Ray has many errors for this, without a common base
        raise ClusterError(
            f"This machine cannot work with the Ray cluster at {address}: {exc}",
            hint=f"join it with `ray start --address={address}`, or unset `indexing.ray`",
        ) from exc
    with suppress(ValueError):  # in another thread Ray leaves the signal handler alone
        signal.signal(signal.SIGTERM, before)
    try:
        yield ray
    finally:
        ray.shutdown()


def _require_reachable(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as exc:
        raise ClusterError(
            f"There is no Ray cluster at {address}: {exc}",
            hint="start it with `ray start --head`, or unset `indexing.ray`",
        ) from exc
