"""What each part of the default ranking is worth: nDCG@10 with it, and without it.

    python benchmarks/quality/ablation.py SET [SET …] [--most 200] [--save]

A SET is a folder as `aur eval` reads it. Each line turns one thing off, or takes another fusion;
the difference is to the default, over the same questions, with a star where a paired randomisation
test gives p < 0.05. What is turned off in the index needs a memory of its own. `--save` writes
benchmarks/results/ablation-<commit>.json: numbers only, for some sets may not be passed on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

from aurora import text as terms
from aurora.config import Places, SettingsFiles
from aurora.engine import Memory
from aurora.engine.temporary_memory import TemporaryMemory
from aurora.evaluation import runner as asking
from aurora.evaluation.datasets import LabelledSet, read_set
from aurora.evaluation.metrics import ndcg, randomisation_test
from aurora.evaluation.runner import Answer, System, evaluate
from aurora.fusion.auto import Auto, Trust
from aurora.retrieval.config import FUSIONS, HybridConfig
from aurora.types import Mode, SearchResults

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

DEFAULT = "default"
Patches = Mapping[str, Any]  # dotted name → what stands there instead


@dataclass(frozen=True, slots=True)
class Variant(System):
    """A way to search with something turned off."""

    name: str = DEFAULT
    rules: Mapping[str, float] | None = None
    trust: Trust | None = None
    patches: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        return self.name

    def search(self, memory: Memory, text: str, *, limit: int) -> SearchResults:
        with patched(dict(self.patches)), patch.dict(FUSIONS, {"auto": self._auto}):
            return System.search(self, memory, text, limit=limit)

    def _auto(self, config: HybridConfig) -> Auto:
        fusion = make_auto(config)
        assert isinstance(fusion, Auto)
        rules = replace(fusion.rules, **(self.rules or {}))
        return replace(fusion, rules=rules, trust=self.trust or fusion.trust)


make_auto = FUSIONS["auto"]
_unled = lambda outcomes, _: list(outcomes)  # noqa: E731
SEARCHED = (
    Variant(Mode.HYBRID),
    Variant(Mode.KEYWORD, name="words alone"),
    Variant(Mode.SEMANTIC, name="meaning alone"),
    *(Variant(Mode.HYBRID, name, name=f"fusion {name}") for name in FUSIONS if name != "auto"),
    Variant(Mode.HYBRID, name="shares 0.5, code or prose", trust=Trust(0.5, 0.5)),
    Variant(Mode.HYBRID, name="joining words in full", patches=(("aurora.text.JOINING", 1.0),)),
    Variant(Mode.HYBRID, name="definitions do not lead",
            patches=(("aurora.retrieval.candidates.lead", _unled),)),
    Variant(Mode.HYBRID, name="tests are not aside", rules={"aside": 0.0}),
    Variant(Mode.HYBRID, name="no file coherence", rules={"file": 0.0}),
    Variant(Mode.HYBRID, name="no turns beside", rules={"context": 0.0}),
    Variant(Mode.HYBRID, name="no variety", rules={"variety": 1.0}),
)  # fmt: skip
INDEXED: Mapping[str, Patches] = {
    "no stems": {"aurora.text.stem": lambda word: word},
    "short texts win": {"aurora.signals.bm25.WORDS": terms.WORDS._replace(shortest=0)},
    "docstrings count once": {"aurora.text.SUMMARY_TIMES": 0},
    "beginnings count once": {"aurora.text._LONG": sys.maxsize},
    "vectors without labels": {"aurora.indexing.embedding.LABEL_SHARE": 0.0},
}


@contextmanager
def patched(patches: Patches) -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in patches.items():
            stack.enter_context(patch(name, value))
        if "aurora.text.stem" in patches:
            stack.enter_context(patch("aurora.text._terms", terms.Words(terms._with_stems)))
        yield


def measure(labelled: LabelledSet, made: TemporaryMemory) -> dict[str, dict[str, float]]:
    """Variant → question → nDCG@10."""
    answers = dict(evaluate(labelled, SEARCHED, made.memory).answers)
    for name, patches in INDEXED.items():
        with patched(patches):
            only = [Variant(Mode.HYBRID, name=name)]
            answers |= evaluate(labelled, only, made.memory).answers
    grades = {question.id: question.grades for question in labelled.questions}

    def scores(answered: Mapping[str, Answer]) -> dict[str, float]:
        return {id_: ndcg(one.documents, grades[id_], at=10) for id_, one in answered.items()}

    return {name: scores(answered) for name, answered in answers.items()}


def line(name: str, sets: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    means, differences, stars = [], [], []
    for measured in sets:
        gains = [measured[name][id_] - score for id_, score in measured[DEFAULT].items()]
        means.append(round(fmean(measured[name].values()), 4))
        differences.append(round(fmean(gains), 4))
        stars.append(any(gains) and randomisation_test(gains) < 0.05)
    return {"ndcg10": means, "difference": differences, "significant": stars}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--most", type=int, default=200, help="questions of each set")
    options.add_argument("--save", action="store_true")
    given = options.parse_args()
    asking.DEPTH = 10  # type: ignore[misc]  # nothing here is told of later places
    made = TemporaryMemory(SettingsFiles(Places(Path("/nonexistent")), {}, {}))
    measured = {}
    for folder in given.sets:
        measured[folder.name] = measure(read_set(folder).draw(given.most), made)
        print(f"{folder.name}: {fmean(measured[folder.name][DEFAULT].values()):.3f}", flush=True)
    lines = {name: line(name, list(measured.values())) for name in measured[given.sets[0].name]}
    print("\n| nDCG@10 | " + " | ".join(measured) + " |\n|---|" + "---|" * len(measured))
    for name, one in lines.items():
        told = one["ndcg10"] if name == DEFAULT else one["difference"]
        shown = [f"{n:.3f}" if name == DEFAULT else f"{n:+.3f}" for n in told]
        cells = [c + " *" * s for c, s in zip(shown, one["significant"], strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |")
    if given.save:
        counts = {name: len(one[DEFAULT]) for name, one in measured.items()}
        record.save("ablation", {"questions": counts, "sets": list(measured), "lines": lines})


if __name__ == "__main__":
    main()
