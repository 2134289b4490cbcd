"""A table of word pieces made of MiniLM without any text, to compare our own models with.

As model2vec does it (Minish Lab, 2024): every piece of the vocabulary goes through the encoder
alone, the vectors are turned to their 256 main directions, and each is weighed by how common the
piece must be: by Zipf's law its share p of all words follows from its place in the vocabulary, and
it weighs a / (a + p) (Arora et al., 2017). A text is the mean of its pieces.

    python benchmarks/quality/distilled.py [--models FOLDER]

makes the table, which takes minutes the first time and is kept in benchmarks/.cache/distilled. The
teacher is the provider `onnx`'s all-minilm-l6-v2, in int8.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.compute import unit_rows
from aurora.embeddings.model_folders import TOKENIZER, model_folder
from aurora.embeddings.onnx import DEFAULT_MODEL, Encoder, OnnxProvider, Window

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "distilled"
DIMENSION = 256
_RECIPE = 1  # grows when the same text gives another vector
_SIF = 1e-4  # the a above: model2vec's
_MARK = re.compile(r"\[(unused\d+|PAD|UNK|CLS|SEP|MASK)\]")  # no part of any text

Table = NDArray[np.float32]


class Distilled:
    """Satisfies `EmbeddingProvider`; makes or loads its table with the first text."""

    name = f"distilled/minilm-{DIMENSION}"
    dimension = DIMENSION
    batch_size = 256
    reads_cjk = False  # the vocabulary is English

    def __init__(self, options: ProviderOptions) -> None:
        teacher = OnnxProvider(options._replace(model=DEFAULT_MODEL))
        self.fingerprint = f"{teacher.fingerprint}-{_RECIPE}"
        self._folder = model_folder(options.models, DEFAULT_MODEL)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer: Tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _table(self) -> Table:
        file = CACHE / f"{self.fingerprint}.npy"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            whole = file.with_name(f"{file.name}.part.npy")  # half a table is none
            np.save(whole, make_table(self._folder, self._tokenizer))
            whole.rename(file)
        return cast("Table", np.load(file, mmap_mode="r"))

    def embed_batch(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        sums = np.stack([self._table[one.ids].sum(axis=0) for one in encoded])
        return cast("Sequence[Sequence[float]]", unit_rows(sums))

    def embed_query(self, text: str) -> Sequence[float]:
        return self.embed_batch([text])[0]


def make_table(folder: Path, tokenizer: Tokenizer) -> Table:
    """A row a piece, its weight in it; pieces that are no text have nothing but zeros."""
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda one: one[1])
    used = [number for piece, number in pieces if not _MARK.fullmatch(piece)]
    if "AURORA_BENCHMARK_TINY" in os.environ:  # whether it still runs
        used = used[::50]
    table = np.zeros((len(pieces), DIMENSION), np.float32)
    table[used] = main_directions(read_alone(folder, used)) * zipf_weights(len(used))[:, None]
    return table


def read_alone(folder: Path, numbers: Sequence[int]) -> Table:
    """What the encoder says of each piece where nothing else stands."""
    encoder = Encoder(folder)
    around = encoder.split("")[0].ids
    windows = [Window([around[0], number, around[-1]], 1, 2) for number in numbers]
    return np.stack([encoder.run(window.ids).mean(axis=0) for window in windows])


def main_directions(rows: Table) -> Table:
    """Principal components: the directions in which the rows differ most, the first first."""
    centred = rows - rows.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)  # the least first
    return cast("Table", centred @ directions[:, : -DIMENSION - 1 : -1])


def zipf_weights(count: int) -> Table:
    shares = 1.0 / np.arange(2, count + 2)
    shares /= shares.sum()
    return cast("Table", (_SIF / (_SIF + shares)).astype(np.float32))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--models", type=Path, default=Path("models"), help="where models lie")
    made = Distilled(ProviderOptions(models=options.parse_args().models))
    made.embed_query("Is it there?")
    print(f"{made.name}, {made.fingerprint}", file=sys.stderr)


if __name__ == "__main__":
    main()
