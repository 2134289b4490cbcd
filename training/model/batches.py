"""Which pairs come together, and what of them is read.

A batch is of one kind, so that what is wrong in it is not easily told from what is right; half of
it are pairs drawn at random, the other half the pairs of their hard negatives, whose passages are
wrong answers to the first half and right ones to their own questions.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aurora.embeddings.aurora.weights import WINDOW
from training.corpus import KINDS
from training.model.losses import Taught, Teachers
from training.model.ragged import load_ragged
from training.model.student import Student, Vectors, shares
from training.model.vocabulary import BALANCE

SLICES = 4  # of a batch, by length: less is padded
ROUND = 8  # lengths are multiples of this
MARGIN = 0.08  # by which a batch may be longer than its kind is


class Batch(NamedTuple):
    """Pairs of one kind, by their numbers."""

    kind: int  # a place in KINDS
    rows: NDArray[np.int64]


class Batches:
    """Draws them. Those of a kind have the same size, as long as it has so many pairs."""

    def __init__(self, ready: Path, size: int, *, seed: int, hard: float) -> None:
        self._size, self._hard = size, hard
        self._random = np.random.default_rng(seed)
        kinds = np.load(ready / "kinds.npy")
        self._rows = [np.flatnonzero(kinds == kind) for kind in range(len(KINDS))]
        sizes = np.array([len(rows) for rows in self._rows], float) ** BALANCE
        self._odds = sizes / sizes.sum()
        file = ready / "negatives.npy"
        self._negatives = np.load(file) if hard and file.exists() else None

    def draw(self) -> Batch:
        """Each pair at most once."""
        kind = int(self._random.choice(len(self._rows), p=self._odds))
        rows = self._rows[kind]
        seeds = self._some(rows, int(self._size * (1 - self._hard)))
        found = np.unique(np.concatenate([seeds, self._hard_ones(seeds)]))
        while missing := min(self._size, len(rows)) - len(found):
            found = np.unique(np.concatenate([found, self._some(rows, missing)]))
        return Batch(kind, found.astype(np.int64))

    def _hard_ones(self, seeds: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._negatives is None:
            return seeds[:0]
        columns = self._random.integers(self._negatives.shape[1], size=len(seeds))
        found = self._negatives[seeds, columns]
        return self._random.permutation(found[found >= 0])[: self._size - len(seeds)]

    def _some(self, rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        return np.unique(rows[self._random.integers(len(rows), size=size)])


class Sides:
    """Both sides of all pairs, where they are worked at."""

    def __init__(
        self, ready: Path, trust_by_kind: Tensor, device: str, *, drop: float = 0.0
    ) -> None:
        self._drop = drop
        both = [load_ragged(ready, name) for name in "ab"]
        self._starts, self._lengths = [ids.ends for ids in both], [ids.lengths for ids in both]
        nothing = np.zeros(WINDOW, np.uint16)  # reading past the last text is no mistake
        self._flat = [
            torch.from_numpy(np.append(ids.flat, nothing).astype(np.int32)).to(device)
            for ids in both
        ]
        self._taught = {
            name: torch.from_numpy(np.load(ready / f"{name}.npy")).to(device)
            for name in Teachers._fields
        }
        kinds = np.load(ready / "kinds.npy").astype(np.int64)
        self._widths = [
            [_widths(lengths[kinds == kind]) for lengths in self._lengths]
            for kind in range(len(KINDS))
        ]
        self.trust = trust_by_kind[torch.from_numpy(kinds)].T.contiguous().to(device)

    def teachers(self, rows: Tensor) -> Teachers:
        taught = (self._taught[name][:, rows].float() for name in Teachers._fields)
        return Teachers(*(Taught(*both) for both in taught))

    def plan(self, batch: Batch) -> Tensor:
        """The pairs, and of each side where its texts begin, how long they are, the shortest
        first, and at which place each pair's text then is."""
        found = [batch.rows]
        for side, widths in enumerate(self._widths[batch.kind]):
            lengths = self._lengths[side][batch.rows]
            order = np.argsort(lengths, kind="stable")
            sizes = [len(some) for some in np.array_split(order, SLICES)]
            fitting = np.minimum(lengths[order], np.repeat(widths, sizes))
            found += [self._starts[side][batch.rows][order], fitting, np.argsort(order)]
        return torch.from_numpy(np.stack(found))

    def embed(self, student: Student, kind: int, side: int, plan: Tensor) -> Vectors:
        """In slices of about the same length each, put back into their order."""
        starts, lengths, back = plan[1 + 3 * side : 4 + 3 * side]
        made = [
            student(*self._padded(side, *some))
            for some in zip(
                starts.tensor_split(SLICES),
                lengths.tensor_split(SLICES),
                self._widths[kind][side],
                strict=True,
            )
        ]
        return Vectors(*(torch.cat(part).index_select(0, back) for part in zip(*made, strict=True)))

    def _padded(
        self, side: int, starts: Tensor, lengths: Tensor, width: int
    ) -> tuple[Tensor, Tensor]:
        places = torch.arange(width, device=starts.device)
        mask = places < lengths[:, None]
        if self._drop:  # never the first place: no text may be empty
            mask &= (torch.rand(mask.shape, device=starts.device) >= self._drop) | (places == 0)
        found = self._flat[side][starts[:, None] + places].long() * mask
        return found, shares(found, mask)


def _widths(lengths: NDArray[np.int64]) -> list[int]:
    """How many places each slice of a sorted batch has. They do not depend on the batch, for a
    GPU repeats quickest what it has done before; the few texts that are longer lose their end."""
    if not len(lengths):
        return [ROUND] * SLICES
    shares = [min(1.0, (slice_ + 1) / SLICES + MARGIN) for slice_ in range(SLICES)]
    needed = np.ceil(np.quantile(lengths, shares) / ROUND).astype(int) * ROUND
    return [min(WINDOW, max(ROUND, int(width))) for width in needed]
