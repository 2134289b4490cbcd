"""Which pairs come together, and what of them is read.

A batch is of one kind, so that what is wrong in it is not easily told from what is right; half of
it are pairs drawn at random, the other half the pairs of their hard negatives, whose passages are
wrong answers to the first half and right ones to their own questions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from aurora.embeddings.own.weights import WINDOW
from training.corpus import KINDS
from training.model.losses import Taught, Teachers
from training.model.ragged import load_ragged
from training.model.student import Student, Vectors, shares
from training.model.vocabulary import BALANCE

SLICES = 4  # of a batch, by length: less is padded
ROUND = 8  # lengths are multiples of this


class Batches:
    """Numbers of pairs."""

    def __init__(self, ready: Path, size: int, *, seed: int, hard: float) -> None:
        self._size, self._hard = size, hard
        self._random = np.random.default_rng(seed)
        kinds = np.load(ready / "kinds.npy")
        self._rows = [rows for at in range(len(KINDS)) if len(rows := np.flatnonzero(kinds == at))]
        sizes = np.array([len(rows) for rows in self._rows], float) ** BALANCE
        self._odds = sizes / sizes.sum()
        file = ready / "negatives.npy"
        self._negatives = np.load(file) if hard and file.exists() else None

    def draw(self) -> np.ndarray:
        """Each pair once; a little fewer than asked for where some were drawn twice."""
        rows = self._rows[self._random.choice(len(self._rows), p=self._odds)]
        if self._negatives is None:
            return self._some(rows, self._size)
        seeds = self._some(rows, int(self._size * (1 - self._hard)))
        columns = self._random.integers(self._negatives.shape[1], size=len(seeds))
        hard = self._negatives[seeds, columns]
        hard = self._random.permutation(hard[hard >= 0])[: self._size - len(seeds)]
        more = self._some(rows, self._size - len(seeds) - len(hard))
        return np.unique(np.concatenate([seeds, hard, more])).astype(np.int64)

    def _some(self, rows: np.ndarray, size: int) -> np.ndarray:
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
        kinds = torch.from_numpy(np.load(ready / "kinds.npy").astype(np.int64))
        self.trust = trust_by_kind[kinds].T.contiguous().to(device)

    def teachers(self, rows: Tensor) -> Teachers:
        taught = (self._taught[name][:, rows].float() for name in Teachers._fields)
        return Teachers(*(Taught(*both) for both in taught))

    def embed(self, student: Student, side: int, batch: np.ndarray) -> Vectors:
        """In slices of about the same length each, put back into their order."""
        order = np.argsort(self._lengths[side][batch], kind="stable")
        made = [
            student(*self._padded(side, some))
            for some in np.array_split(batch[order], SLICES)
            if len(some)
        ]
        back = torch.from_numpy(np.argsort(order)).to(self.trust.device)
        return Vectors(*(torch.cat(parts)[back] for parts in zip(*made, strict=True)))

    def _padded(self, side: int, batch: np.ndarray) -> tuple[Tensor, Tensor]:
        lengths, device = self._lengths[side][batch], self.trust.device
        longest = min(WINDOW, -(-int(lengths.max()) // ROUND) * ROUND)
        places = torch.arange(longest, device=device)
        starts = torch.from_numpy(self._starts[side][batch]).to(device)
        mask = places < torch.from_numpy(lengths).to(device)[:, None]
        if self._drop:  # never the first place: no text may be empty
            mask &= (torch.rand(mask.shape, device=device) >= self._drop) | (places == 0)
        found = self._flat[side][starts[:, None] + places].long() * mask
        return found, shares(found, mask)
