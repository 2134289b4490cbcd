"""Pairs into arrays that training reads: texts as pieces, and what the teachers make of them.

    python -m training.model.prepare PAIRS OUT --pieces pieces.txt --minilm minilm.npz --e5 e5.npz
        [--negatives negatives.npy] [--most N] [--device cuda]

    kinds.npy          of each pair, a place in corpus.KINDS
    a.*.npy b.*.npy    pieces of both sides, at most a window of them
    counts.npy         how often each piece comes
    start.npy          the table to begin with
    minilm.npy e5.npy  float16, 2 sides × pairs × 384
    negatives.npy      pairs × 4: whose passages look right and are not; -1 where there is none

What is there already is not made again, so it can be stopped and go on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import torch

from aurora.embeddings.aurora.tokens import Tokenizer, read_tokenizer
from aurora.embeddings.aurora.weights import WINDOW
from training.corpus import KINDS, Pair, pair_files, read_pairs
from training.model.ragged import Ragged, make_ragged
from training.model.start import start_table
from training.model.teachers import Teacher, load_teacher

AT_ONCE = 5_000  # texts that one process cuts


def read_all(folder: Path, most: int) -> tuple[list[Pair], np.ndarray]:
    """All pairs, or so many drawn, and their numbers among all."""
    with Pool() as pool:
        parts = pool.map(_read_file, pair_files(folder), chunksize=1)
    pairs = [pair for part in parts for pair in part]
    rows = np.arange(len(pairs))
    if most and most < len(pairs):
        rows = np.sort(np.random.default_rng(0).permutation(len(pairs))[:most])
    return [pairs[row] for row in rows], rows


def _read_file(file: Path) -> list[Pair]:
    return list(read_pairs(file))


_words: Tokenizer


def _open_words(pieces: Path) -> None:
    global _words  # noqa: PLW0603 - one for each process of the pool
    _words = read_tokenizer(pieces)


def _cut(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array(_words.encode(text)[:WINDOW], np.uint16) for text in texts]


def cut_texts(texts: Sequence[str], pieces: Path) -> Ragged:
    """As the model reads them, by all processors."""
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    with Pool(initializer=_open_words, initargs=(pieces,)) as pool:
        rows = [row for part in pool.imap(_cut, parts) for row in part]
    return make_ragged(rows, np.uint16)


def embed_sides(teacher: Teacher, sides: Sequence[Sequence[str]]) -> np.ndarray:
    started = time.monotonic()
    cut = [teacher.cut(texts, side) for side, texts in enumerate(sides)]
    tokens, cutting = sum(len(ids.flat) for ids in cut), time.monotonic() - started
    made = np.stack([teacher.embed(ids) for ids in cut])
    texts, seconds = sum(map(len, sides)), time.monotonic() - started - cutting
    print(
        f"{texts:,} texts of {tokens / texts:.0f} tokens: "
        f"cut in {cutting:.0f} s, embedded in {seconds:.0f} s, {texts / seconds:.0f} a second",
        flush=True,
    )
    return made


def find_negatives(file: Path, rows: np.ndarray) -> np.ndarray:
    """Those of the pairs that are here, by their numbers here."""
    found = np.load(file)
    here = np.full(len(found) + 1, -1, np.int32)  # the last one is where -1 points to
    here[rows] = np.arange(len(rows), dtype=np.int32)
    return here[found[rows]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pieces", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--e5", type=Path)
    parser.add_argument("--negatives", type=Path)
    parser.add_argument("--most", type=int, default=0, help="so many pairs, drawn; 0: all")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    pairs, rows = read_all(options.pairs, options.most)
    sides = [pair.a for pair in pairs], [pair.b for pair in pairs]
    print(f"{len(pairs):,} pairs read in {time.monotonic() - started:.0f} s", flush=True)
    if not (out / "counts.npy").exists():
        np.save(out / "kinds.npy", np.array([KINDS.index(pair.kind) for pair in pairs], np.uint8))
        cut = [cut_texts(texts, options.pieces) for texts in sides]
        for name, ids in zip("ab", cut, strict=True):
            ids.save(out, name)
        size = read_tokenizer(options.pieces).size
        np.save(out / "counts.npy", sum(np.bincount(ids.flat, minlength=size) for ids in cut))
        print(f"cut for ours by {time.monotonic() - started:.0f} s", flush=True)
    if options.negatives:
        np.save(out / "negatives.npy", find_negatives(options.negatives, rows))
    teachers = {}
    for name in ("minilm", "e5"):
        if file := getattr(options, name):
            teachers[name] = load_teacher(file, options.device)
    if not (out / "start.npy").exists():
        pieces = options.pieces.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        np.save(out / "start.npy", start_table(pieces, teachers["minilm"], teachers.get("e5")))
    for name, teacher in teachers.items():
        if not (out / f"{name}.npy").exists():
            np.save(out / f"{name}.npy", embed_sides(teacher, sides))


if __name__ == "__main__":
    main()
