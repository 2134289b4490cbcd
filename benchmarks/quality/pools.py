"""Parts of a labelled set, and memories with a model of one's own: what models are compared in."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aurora.config import Places, SettingsFiles
from aurora.embeddings.base import EmbeddingProvider
from aurora.engine.temporary_memory import TemporaryMemory
from aurora.evaluation.datasets import Group, Item, LabelledSet
from aurora.evaluation.runner import Open

_SEED = 0


def draw_pool(labelled: LabelledSet, most: int, others: int) -> LabelledSet:
    """So many questions, each asked among the texts that any of them is judged by and so many
    others of its group, always the same ones. 0 others: among all texts of the group."""
    drawn = labelled.draw(most)
    judged = {document for question in drawn.questions for document in question.grades}
    items = (item for group in drawn.by_group() for item in _among(group, judged, others))
    return replace(drawn, items=tuple(items))


def _among(group: Group, judged: set[str], others: int) -> list[Item]:
    rest = [item.id for item in group.items if item.id not in judged]
    if others and others < len(rest):
        rest = random.Random(_SEED).sample(rest, others)  # noqa: S311 - no secret
    kept = judged | set(rest)
    return [item for item in group.items if item.id in kept]


def memories_with(embedder: EmbeddingProvider, settings: Mapping[str, object]) -> Open:
    """Empty memories whose texts it embeds, with settings as by default but for these."""
    made = TemporaryMemory(SettingsFiles(Places(Path("/nonexistent")), {}, settings))
    made.embedder = embedder
    return made.memory
