"""Texts as numbers that lie side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths: row i is `flat[ends[i]:ends[i + 1]]`."""

    flat: NDArray[np.generic]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, row: int) -> NDArray[np.generic]:
        return self.flat[self.ends[row] : self.ends[row + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.ends)

    def save(self, folder: Path, name: str) -> None:
        np.save(folder / f"{name}.flat.npy", self.flat)
        np.save(folder / f"{name}.ends.npy", self.ends)


def make_ragged(
    rows: Sequence[Sequence[int] | NDArray[np.generic]], dtype: type[np.generic]
) -> Ragged:
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=ends[1:])
    return Ragged(np.concatenate([np.asarray(row, dtype) for row in rows]), ends)


def load_ragged(folder: Path, name: str) -> Ragged:
    return Ragged(np.load(folder / f"{name}.flat.npy"), np.load(folder / f"{name}.ends.npy"))
