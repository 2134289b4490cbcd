"""How far the student's similarities are from those it should have.

What it learns from a batch is a table of numbers: of each question, how much of it belongs to each
passage. Both teachers say so by the softmax of their similarities, and are added up by how much
each is trusted with that kind of text. Beside that stands what is known for certain, that a
passage belongs to its own question (InfoNCE); passages that the teachers find better than that one
do not count as wrong there, for batches hold many that are right by chance.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, log_softmax, normalize, softmax

from aurora.embeddings.aurora.weights import WIDTH
from training.model.student import Vectors

SIZES = {256: 1.0, 128: 0.3, 64: 0.2}  # of vectors, by what each counts
DEPTHS = Vectors(shallow=0.6, deep=1.0)
HEAT = 0.05  # the student's, and MiniLM's
SHARPNESS = 2.0  # e5's similarities are narrow: they are counted in deviations from their mean
ALIKE = 0.15  # what questions among each other count
NEAR = 0.5  # what being where the teacher's vector is counts
TEACHER_WIDTH = 384
NOWHERE = -1e3  # the similarity of a question with itself; not infinite: 0 times that is no number


class Taught(NamedTuple):
    """A teacher's vectors of both sides of the pairs of a batch."""

    a: Tensor
    b: Tensor


class Teachers(NamedTuple):
    """What each says of a batch."""

    minilm: Taught
    e5: Taught


class Trust(NamedTuple):
    """Of each pair, how much is made of what MiniLM says, what e5 says, and of the pair itself."""

    minilm: Tensor
    e5: Tensor
    pair: Tensor


class Maps(nn.Module):
    """From the student's vectors to where each teacher has them; thrown away in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.minilm = nn.Linear(WIDTH, TEACHER_WIDTH, bias=False)
        self.e5 = nn.Linear(WIDTH, TEACHER_WIDTH, bias=False)


class Loss(NamedTuple):
    """Parts that are added up."""

    taught: Tensor
    alike: Tensor
    pair: Tensor
    near: Tensor

    @property
    def total(self) -> Tensor:
        return self.taught + ALIKE * self.alike + self.pair + NEAR * self.near


def find_loss(a: Vectors, b: Vectors, teachers: Teachers, trust: Trust, maps: Maps) -> Loss:
    """Mean over the pairs of a batch."""
    minilm, e5 = teachers
    asked = _target(minilm.a @ minilm.b.T, e5.a @ e5.b.T, trust)
    among = _target(_without_self(minilm.a @ minilm.a.T), _without_self(e5.a @ e5.a.T), trust)
    right = asked.diagonal()[:, None]
    mistaken = asked > right
    parts = torch.zeros(3, device=asked.device)
    for depth, ours, theirs in zip(DEPTHS, a, b, strict=True):
        for size, counts in SIZES.items():
            one, other = normalize(ours[:, :size], dim=1), normalize(theirs[:, :size], dim=1)
            scores = one @ other.T / HEAT
            each = [
                _divergence(scores, asked),
                _divergence(_without_self(one @ one.T) / HEAT, among),
                _surprise(scores.masked_fill(mistaken, -torch.inf), trust.pair),
            ]
            parts = parts + depth * counts * torch.stack(each)
    near = sum(
        _distance(vectors.deep, taught, lead, counts)
        for lead, both, counts in (
            (maps.minilm, minilm, trust.minilm),
            (maps.e5, e5, trust.e5),
        )
        for vectors, taught in zip((a, b), both, strict=True)
    )
    return Loss(*parts, near)


def _target(minilm: Tensor, e5: Tensor, trust: Trust) -> Tensor:
    """Rows of questions, columns of passages; a row adds up to the trust in both teachers."""
    real = e5 > NOWHERE / 2
    count = real.sum(1, keepdim=True)
    mean = (e5 * real).sum(1, keepdim=True) / count
    deviation = ((e5 - mean).square() * real).sum(1, keepdim=True) / count
    standard = (e5 - mean) / deviation.sqrt().clamp(min=1e-6)
    by_minilm = trust.minilm[:, None] * softmax(minilm / HEAT, 1)
    return by_minilm + trust.e5[:, None] * softmax(SHARPNESS * standard, 1)


def _without_self(scores: Tensor) -> Tensor:
    itself = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return scores.masked_fill(itself, NOWHERE)


def _divergence(scores: Tensor, target: Tensor) -> Tensor:
    """Kullback and Leibler's, of the scores' softmax from the target; 0 where they agree."""
    mass = target.sum(1, keepdim=True).clamp(min=1e-9)
    known = torch.special.xlogy(target, target / mass)
    return (known - target * log_softmax(scores, 1)).sum(1).mean()


def _surprise(scores: Tensor, counts: Tensor) -> Tensor:
    return -(log_softmax(scores, 1).diagonal() * counts).mean()


def _distance(vectors: Tensor, taught: Tensor, lead: nn.Linear, counts: Tensor) -> Tensor:
    """1 - cosine of each text's vector, once mapped, and the teacher's."""
    mapped = lead(normalize(vectors, dim=1))
    return ((1 - cosine_similarity(mapped, taught, dim=1)) * counts).mean()
