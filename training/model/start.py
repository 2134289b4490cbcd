"""The vectors that the table begins with: those of the teachers for the same pieces, made narrower.

A piece that MiniLM lacks begins as the mean of the pieces that MiniLM cuts it into. What it cannot
read at all, CJK most of all, begins with e5's vectors; what neither knows, with chance, so that it
is at least itself and nothing else. The two spaces have nothing to do with each other, which is
no harm: only what is near what counts, and training brings them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from aurora.embeddings.aurora.weights import WIDTH
from aurora.text import has_cjk
from training.model.teachers import WORDS, Teacher

SIZE = 0.25  # root of the mean square of a row's numbers: what a rate of 1e-3 moves in good time

Floats = NDArray[np.float32]


def start_table(pieces: Sequence[str], minilm: Teacher, e5: Teacher | None) -> Floats:
    random = np.random.default_rng(0)
    table = random.normal(0, SIZE, (len(pieces), WIDTH)).astype(np.float32)
    known = _fill(table, pieces, minilm, _word_piece_cut(minilm.tokenizer))
    if e5 is not None:
        known |= _fill(table, pieces, e5, _unigram_cut(e5.tokenizer), left=~known)
    print(f"{known.sum():,} of {len(pieces):,} pieces begin with a teacher's vector")
    return table


def _fill(
    table: Floats,
    pieces: Sequence[str],
    teacher: Teacher,
    cut: Callable[[str], list[int]],
    left: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Give the pieces that this teacher can read its vectors, and tell which those are."""
    words = teacher.tensors[WORDS].float().cpu().numpy()
    wanted = np.ones(len(pieces), bool) if left is None else left
    cuts = {at: found for at in np.flatnonzero(wanted) if (found := cut(pieces[at]))}
    vectors = np.array([words[found].mean(axis=0) for found in cuts.values()])
    known = np.zeros(len(pieces), bool)
    if len(vectors) >= WIDTH:  # fewer have no 256 directions
        known[list(cuts)] = True
        table[known] = _narrowed(vectors)
    return known


def _narrowed(vectors: Floats) -> Floats:
    """Their main directions, each row of the same size."""
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred.T @ centred)
    narrow = centred @ directions[:WIDTH].T
    kept = np.square(narrow).sum() / np.square(centred).sum()
    print(f"{WIDTH} of {vectors.shape[1]} directions hold {kept:.1%} of {len(vectors):,} vectors")
    sizes = np.sqrt(np.square(narrow).mean(axis=1, keepdims=True))
    return narrow / np.maximum(sizes, 1e-6) * SIZE


def _word_piece_cut(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    unknown = tokenizer.token_to_id("[UNK]")

    def cut(piece: str) -> list[int]:
        if has_cjk(piece):
            return []
        whole = tokenizer.token_to_id(piece)
        if whole is not None:
            return [whole]
        ids = tokenizer.encode(piece.removeprefix("##"), add_special_tokens=False).ids
        return [] if unknown in ids else ids

    return cut


def _unigram_cut(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    space, unknown = tokenizer.token_to_id("▁"), tokenizer.token_to_id("<unk>")

    def cut(piece: str) -> list[int]:
        ids = tokenizer.encode(piece.removeprefix("##"), add_special_tokens=False).ids
        return [] if unknown in ids else [id_ for id_ in ids if id_ != space]

    return cut
