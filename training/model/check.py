"""nDCG@10 of the model alone, by cosine, on sets of labelled questions.

    python -m training.model.check MODEL SET [SET …] [--pieces pieces.txt] [--most 300]

MODEL is a trained npz, which torch runs and which needs `--pieces`, or a folder of exported files,
run as the package would; or a packed teacher, for comparison. A SET is a folder as
`aurora.evaluation.datasets` reads it, and is asked as the benchmarks do: inside its groups, with
files cut into pieces of whole lines and found where their best piece is.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import normalize

from aurora.embeddings.aurora.model import (
    READ,
    NumpyLayers,
    OnnxLayers,
    Run,
    deep_sums,
    shallow_sums,
    window_sums,
)
from aurora.embeddings.aurora.provider import AuroraProvider
from aurora.embeddings.aurora.tokens import PIECES, Tokenizer, read_tokenizer
from aurora.embeddings.aurora.weights import GRAPH, WINDOW, read_tensors, weights_digest
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.compute import unit_rows
from aurora.evaluation.datasets import Group, Item, LabelledSet, read_set
from aurora.evaluation.metrics import ndcg
from aurora.text import has_cjk
from training.model.ragged import make_ragged
from training.model.student import Student, Vectors, load_student
from training.model.teachers import Teacher, load_teacher

LINES = 4000  # characters of a piece of a file, as in the benchmarks
AT_ONCE = 64  # windows

Floats = NDArray[np.float32]
Embed = Callable[[Sequence[str], int], Floats]  # texts of side 0 (asked) or 1 (found)


def embed_by_torch(student: Student, words: Tokenizer, texts: Sequence[str]) -> Vectors:
    """What the package makes of each text; rows of length 1."""
    pieces = [words.encode(text) for text in texts]
    shallow = _sum_windows(student, pieces).shallow
    heads = [
        numbers if has_cjk(text) else numbers[:READ]
        for text, numbers in zip(texts, pieces, strict=True)
    ]
    layered = _sum_windows(student, heads).deep
    return Vectors(normalize(shallow, dim=1), normalize(shallow + layered, dim=1))


def _sum_windows(student: Student, texts: Sequence[Sequence[int]]) -> Vectors:
    """The sums of all windows of each text, the shortest first."""
    cut = make_ragged(texts, np.int64)
    share = np.concatenate([_shares(cut[row]) for row in range(len(cut))])
    windows = [
        (row, start, min(start + WINDOW, int(cut.ends[row + 1])))
        for row in range(len(cut))
        for start in range(int(cut.ends[row]), int(cut.ends[row + 1]), WINDOW)
    ]
    windows.sort(key=lambda window: window[2] - window[1])
    sums = [torch.zeros(len(texts), student.position.shape[1]) for _ in Vectors._fields]
    for at in range(0, len(windows), AT_ONCE):
        some = windows[at : at + AT_ONCE]
        ids = torch.zeros((len(some), some[-1][2] - some[-1][1]), dtype=torch.int64)
        shares = torch.zeros(ids.shape)
        for place, (_, start, stop) in enumerate(some):
            ids[place, : stop - start] = torch.from_numpy(cut.flat[start:stop])
            shares[place, : stop - start] = torch.from_numpy(share[start:stop])
        with torch.inference_mode():
            made = student(ids, shares)
        rows = torch.tensor([row for row, _, _ in some])
        for total, part in zip(sums, made, strict=True):
            total.index_add_(0, rows, part)
    return Vectors(*sums)


def _shares(pieces: NDArray[np.generic]) -> Floats:
    _, which, counts = np.unique(pieces, return_inverse=True, return_counts=True)
    return (counts**-0.5).astype(np.float32)[which]


def ways_of(model: Path, pieces: Path | None) -> Mapping[str, Embed]:
    """Name → how it embeds."""
    if model.is_dir():
        digest = weights_digest(model)
        return {
            depth: _provided(AuroraProvider(ProviderOptions(depth), folder=model, weights=digest))
            for depth in Vectors._fields
        }
    if "tokenizer" in np.load(model):
        return {model.stem: _taught(load_teacher(model, "cpu"))}
    if pieces is None:
        raise SystemExit("A trained model needs --pieces")
    student, words = load_student(model), read_tokenizer(pieces)
    both = lru_cache(maxsize=2)(lambda texts: embed_by_torch(student, words, texts))
    return {depth: _trained(both, depth) for depth in Vectors._fields}


def _provided(provider: AuroraProvider) -> Embed:
    def embed(texts: Sequence[str], _: int) -> Floats:
        size = provider.batch_size
        parts = [provider.embed_batch(texts[at : at + size]) for at in range(0, len(texts), size)]
        return np.concatenate([np.asarray(part) for part in parts])

    return embed


def _trained(both: Callable[[tuple[str, ...]], Vectors], depth: str) -> Embed:
    return lambda texts, _: getattr(both(tuple(texts)), depth).numpy()


def _taught(teacher: Teacher) -> Embed:
    return lambda texts, side: teacher.embed(teacher.cut(texts, side)).astype(np.float32)


def texts_of(item: Item) -> list[str]:
    """Whole lines of a file, unless one alone is longer; any other text as it is."""
    if not item.path:
        return [f"{item.title}\n{item.text}" if item.title else item.text]
    found = [""]
    for line in item.text.splitlines(keepends=True):
        for at in range(0, len(line), LINES):
            part = line[at : at + LINES]
            if len(found[-1]) + len(part) > LINES:
                found.append("")
            found[-1] += part
    return [f"{item.path}\n{text}" for text in found]


def score(labelled: LabelledSet, embed: Embed) -> float:
    groups = list(labelled.by_group())
    cut = [(item.id, text) for group in groups for item in group.items for text in texts_of(item)]
    documents = embed([text for _, text in cut], 1)
    questions = embed([one.text for group in groups for one in group.questions], 0)
    return fmean(_gains(groups, [id_ for id_, _ in cut], documents, questions))


def _gains(
    groups: Sequence[Group], ids: Sequence[str], documents: Floats, questions: Floats
) -> Iterator[float]:
    at, asked = 0, count()
    for group in groups:
        size = sum(len(texts_of(item)) for item in group.items)
        some, names = documents[at : at + size], ids[at : at + size]
        at += size
        for question in group.questions:
            order = np.argsort(-(some @ questions[next(asked)]), kind="stable")
            best = dict.fromkeys(names[place] for place in order)  # each once, the best first
            yield ndcg(list(best)[:10], question.grades, at=10)


def compare(model: Path, exported: Path) -> None:
    """How near the exported vectors are to the trained ones, whichever way they are made."""
    texts = Path(__file__).read_text(encoding="utf-8").split("\n\n")
    texts += ["database connection pool timeout", "用户认证失败", "データベース接続", "사용자 인증"]
    words = read_tokenizer(exported / PIECES)
    trained = embed_by_torch(load_student(model), words, texts)
    tensors, pieces = read_tensors(exported, words.size), [words.encode(text) for text in texts]
    for name, expected, sums in (
        ("shallow", trained.shallow, shallow_sums(tensors, pieces)),
        ("deep by numpy", trained.deep, deep_sums(tensors, NumpyLayers(tensors), pieces)),
        ("deep by onnxruntime", trained.deep, deep_sums(tensors, _graph(exported), pieces)),
    ):
        cosines = (expected.numpy() * unit_rows(sums)).sum(axis=1)
        print(f"{name:20} cosine {cosines.mean():.5f}, least {cosines.min():.5f}")


def _graph(exported: Path) -> Run:
    graph = OnnxLayers(exported / GRAPH, threads=1)

    def run(rows: Floats, lengths: Sequence[int], amounts: Floats) -> Floats:
        found = graph(rows, lengths)
        assert found is not None, "onnxruntime is needed to compare with"
        return window_sums(found, lengths, amounts)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--pieces", type=Path)
    parser.add_argument("--most", type=int, default=0, help="so many questions of each; 0: all")
    parser.add_argument("--depth", choices=Vectors._fields, help="only this one")
    options = parser.parse_args()
    ways = ways_of(options.model, options.pieces)
    for folder in options.sets:
        labelled = read_set(folder)
        drawn = labelled.draw(options.most) if options.most else labelled
        for name, embed in ways.items():
            if options.depth in (None, name):
                began = time.monotonic()
                found = score(drawn, embed)
                seconds = time.monotonic() - began
                print(f"{drawn.name:24} {name:8} {found:.4f}  {seconds:4.0f} s", flush=True)


if __name__ == "__main__":
    main()
