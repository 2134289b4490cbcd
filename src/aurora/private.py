"""Files and folders that only their owner may read: what a memory is made of, and what it logs."""

from __future__ import annotations

import os
from pathlib import Path

OWNER_ONLY = 0o600
OWNERS_FOLDER = 0o700


def opener(path: str, flags: int) -> int:
    """For `open`: a file that it makes is its owner's. One that is there keeps its mode."""
    return os.open(path, flags, OWNER_ONLY)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing: `Path.mkdir` leaves those open to all."""
    for missing in reversed([each for each in folder.parents if not each.exists()]):
        missing.mkdir(mode=OWNERS_FOLDER, exist_ok=True)
    folder.mkdir(mode=OWNERS_FOLDER, exist_ok=True)  # an error where it is a file


def make_file(path: Path) -> None:
    """Make an empty file, unless there is one: for libraries that open files by themselves."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, OWNER_ONLY))
