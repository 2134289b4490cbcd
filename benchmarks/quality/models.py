"""What each embedding model finds, alone and beside words, and what it costs: one table, one run.

    python benchmarks/quality/models.py SET [SET …] --models FOLDER [--model NAME …]
        [--most 150] [--most SET=30] [--pool 600] [--pool SET=60] [--rounds 3] [--save]

A SET is a folder as `aur eval` reads it, and the engine searches it as there. A model is named as
embedders.py has it: `aurora:deep`, `onnx:all-minilm-l6-v2`, `distilled`. Each line tells nDCG@10 of
meaning alone and of the default fusion, where meaning has the shares that the model has by default;
words alone are the same with every model. One that cannot be made is named and left out.

Slow models take hours for whole corpora. `--most` draws so many questions, and `--pool` asks each
among the texts that any drawn one is judged by, and so many others of its group; with a name, for
that set alone. All models of a run have the same texts, but numbers are higher than on the whole:
compare within a table.

What they cost is measured by speed/embedding.py, in processes of their own. Vectors are kept in
benchmarks/.cache/vectors, so that a run that was stopped is soon where it was. `--save` writes
benchmarks/results/models-<commit>.json: numbers only, for some sets may not be passed on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

from aurora.embeddings.base import EmbeddingProvider
from aurora.errors import AuroraError
from aurora.evaluation import runner as asking
from aurora.evaluation.datasets import LabelledSet, read_set
from aurora.evaluation.runner import System, evaluate, summarise
from aurora.report_types import Estimate
from aurora.types import Mode

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from embedders import make_embedder, settings_of
from quality.pools import draw_pool, memories_with
from quality.published import PUBLISHED
from quality.vector_cache import CachedVectors
from speed import embedding as speed

CACHE = record.BENCHMARKS / ".cache" / "vectors"
MODELS = (
    "aurora:deep",
    "aurora:shallow",
    "distilled",
    "onnx:all-minilm-l6-v2",
    "onnx:multilingual-e5-small",
)
PACKAGES = ("numpy", "onnxruntime", "tokenizers")
WAYS = {
    "words": System(Mode.KEYWORD),
    "alone": System(Mode.SEMANTIC),
    "fused": System(Mode.HYBRID, "auto"),
}
Scores = Mapping[str, Estimate]  # way → nDCG@10


@dataclass(frozen=True, slots=True)
class Compared:
    """A set, or a part of it, and what each model finds there."""

    part: LabelledSet
    texts: int  # of the whole set
    models: dict[str, Scores] = field(default_factory=dict)

    @property
    def told(self) -> str:
        texts, some = self.texts, len(self.part.items)
        among = f"{texts:,} texts" if some == texts else f"{some:,} of {texts:,} texts"
        return f"{self.part.name}: {len(self.part.questions)} questions, {among}"

    @property
    def words(self) -> Estimate:
        return next(iter(self.models.values()))["words"]


def make_cached(specs: Sequence[str], models: Path) -> Iterator[tuple[str, EmbeddingProvider]]:
    for spec in specs:
        try:
            made = make_embedder(spec, models)
            made.embed_batch(["Is it there?", "Are its files what they should be?"])
        except (AuroraError, ImportError) as exc:
            print(f"left out: {spec}: {exc}", file=sys.stderr)
        else:
            yield spec, CachedVectors(made, CACHE)


def read_part(folder: Path, most: Mapping[str, int], pools: Mapping[str, int]) -> Compared:
    whole = read_set(folder)
    questions, texts = (one.get(whole.name, one[""]) for one in (most, pools))
    part = draw_pool(whole, questions, texts)
    return Compared(part, len(whole.items))


def compare(one: Compared, tried: Sequence[EmbeddingProvider]) -> None:
    print(one.told, file=sys.stderr)
    for embedder in tried:
        start = time.perf_counter()
        scores = one.models[embedder.name] = score(one.part, embedder)
        if scores["words"] != one.words:  # then something else than the model is another, too
            raise SystemExit(f"{one.part.name}: words find something else with {embedder.name}")
        shown = ", ".join(f"{way} {found.mean:.4f}" for way, found in scores.items())
        seconds = time.perf_counter() - start
        print(f"  {embedder.name}: {shown} in {seconds:.0f} s", file=sys.stderr, flush=True)


def score(part: LabelledSet, embedder: EmbeddingProvider) -> Scores:
    open_memory = memories_with(embedder, settings_of(embedder.name))
    evaluated = evaluate(part, list(WAYS.values()), open_memory)
    if evaluated.problems.unembedded or evaluated.embedder != embedder.name:
        raise SystemExit(f"{embedder.name}: not all texts were embedded")  # words would be measured
    found = {one.system: one.scores["nDCG@10"] for one in summarise(evaluated).systems}
    return {way: found[system.label] for way, system in WAYS.items()}


def report(sets: Sequence[Compared], costs: Mapping[str, speed.Measured]) -> None:
    """Markdown: a row a model, a column a set."""
    costed = ("chunks/s", "chunks a CPU s", "first vector, ms", "memory, MB") if costs else ()
    heads = ["nDCG@10, alone / fused", *(one.part.name for one in sets), "mean", *costed]
    print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    words = [f"{one.words.mean:.3f}" for one in sets]
    mean = fmean(one.words.mean for one in sets)
    print("| " + " | ".join(["words alone", *words, f"{mean:.3f}", *("" for _ in costed)]) + " |")
    for name in sets[0].models:
        found = [[one.models[name][way].mean for way in WAYS] for one in sets]
        found.append([fmean(column) for column in zip(*found, strict=True)])
        cells = [*(cell(*one) for one in found), *cost_cells(costs.get(name), len(costed))]
        print(f"| {name} | " + " | ".join(cells) + " |")
    print("\nBold: above words and above the model alone.")
    for one in sets:
        print(one.told)
        if one.part.name in PUBLISHED:
            scores, remark = PUBLISHED[one.part.name]
            print("  published:", ", ".join(f"{who} {x:.3f}" for who, x in scores.items()), remark)


def cell(words: float, alone: float, fused: float) -> str:
    mark = "**" if fused > max(words, alone) else ""
    return f"{alone:.3f} / {mark}{fused:.3f}{mark}"


def cost_cells(one: speed.Measured | None, count: int) -> Sequence[str]:
    if one is None:
        return [""] * count
    a_second = 1e3 / one.chunk_cpu_ms
    numbers = (one.chunks, a_second, 1e3 * one.beyond_numpy_s, one.grown_mb)
    return [f"{number:,.0f}" for number in numbers]


def result(sets: Sequence[Compared], costs: Mapping[str, speed.Measured]) -> dict[str, object]:
    return {
        "sets": {
            one.part.name: {
                "questions": len(one.part.questions),
                "texts": len(one.part.items),
                "of": one.texts,
                "ndcg10": {
                    name: {way: [round(x, 4) for x in found] for way, found in scores.items()}
                    for name, scores in one.models.items()
                },
            }
            for one in sets
        },
        "cost": [asdict(one) for one in costs.values()],
    }


def by_set(given: Sequence[str], usual: int) -> dict[str, int]:
    """N or SET=N, as options have it: set → number, and with no name for all others."""
    numbers = (one.rpartition("=") for one in given)
    return {"": usual} | {name: int(count) for name, _, count in numbers}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--model", action="append", default=[], help="NAME or NAME:MODEL")
    options.add_argument("--models", type=Path, default=Path("models"), help="where models lie")
    options.add_argument("--most", action="append", default=[], help="questions: N or SET=N")
    options.add_argument("--pool", action="append", default=[], help="N or SET=N; 0: all texts")
    options.add_argument("--rounds", type=int, default=3, help="of measuring cost; 0: none")
    options.add_argument("--save", action="store_true", help="write the numbers to a file")
    given = options.parse_args()
    asking.DEPTH = 10  # nothing here is told of later places
    most, pools = by_set(given.most, 150), by_set(given.pool, 0)
    sets = [read_part(folder, most, pools) for folder in given.sets]
    wanted = given.model or MODELS
    tried = dict(make_cached(wanted, given.models))
    if not tried or (given.save and len(tried) < len(wanted)):
        raise SystemExit("nothing is measured: models are missing")  # a part is no result
    rounds = (
        speed.run_rounds(list(tried), given.models, rounds=given.rounds) if given.rounds else []
    )
    costs = {some[0].name: speed.best(some) for some in rounds}
    for one in sets:
        compare(one, list(tried.values()))
    report(sets, costs)
    if given.save:
        told = {"most": most, "pool": pools, "seed": 0, **result(sets, costs)}
        record.save("models", told, packages=[name for name in PACKAGES if find_spec(name)])


if __name__ == "__main__":
    main()
