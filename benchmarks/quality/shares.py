"""What share meaning should have with a model: nDCG@10 of the fusions by that share, on one set.

    python benchmarks/quality/shares.py SET --model NAME --shares .3,.7 .4,.85 [.2 .3 …]
        [--models FOLDER] [--most 120] [--pool 600]

Two numbers with a comma are meaning's shares in `auto`, among prose and among code; one alone is
that in `weighted`. Words and meaning are asked once a question, and the engine does all that comes
after for each share. SET, the model's name and `--pool` are those of models.py. Told are also words
alone, meaning alone, and both fusions with the shares that the model has now. No result is written.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from aurora.engine import Memory
from aurora.evaluation import runner as asking
from aurora.evaluation.datasets import read_set
from aurora.evaluation.runner import System, evaluate, summarise
from aurora.fusion.auto import Trust
from aurora.fusion.base import Fusion
from aurora.retrieval.candidates import Candidates, SearchRequest, Signals
from aurora.retrieval.config import FUSIONS, HybridConfig
from aurora.types import Mode, SearchResults

sys.path.append(str(Path(__file__).resolve().parents[1]))
from embedders import settings_of
from quality.models import make_cached
from quality.pools import draw_pool, memories_with

BESIDE = (
    System(Mode.KEYWORD),
    System(Mode.SEMANTIC),
    System(Mode.HYBRID, "weighted"),
    System(Mode.HYBRID, "auto"),
)


@dataclass(frozen=True, slots=True)
class Shared(System):
    """A fusion that gives meaning this share, whatever the model."""

    share: Trust | float = 0.0

    @property
    def label(self) -> str:
        numbers = self.share if isinstance(self.share, Trust) else (self.share,)
        return f"{self.fusion} {', '.join(f'{number:g}' for number in numbers)}"

    def search(self, memory: Memory, text: str, *, limit: int) -> SearchResults:
        with patch.dict(FUSIONS, {self.fusion: self._fuse}):
            return System.search(self, memory, text, limit=limit)

    def _fuse(self, config: HybridConfig) -> Fusion:
        """Made as ever, of other settings."""
        if isinstance(self.share, Trust):
            return MAKE[self.fusion](replace(config, trust=self.share))
        return MAKE[self.fusion](replace(config, hybrid_search_alpha=self.share))


MAKE: Mapping[str, Callable[[HybridConfig], Fusion]] = dict(FUSIONS)


def read_share(text: str) -> Shared:
    numbers = [float(number) for number in text.split(",")]
    if len(numbers) == 1:
        return Shared(Mode.HYBRID, "weighted", share=numbers[0])
    prose, code = numbers
    return Shared(Mode.HYBRID, "auto", share=Trust(prose, code))


@contextmanager
def asked_once() -> Iterator[None]:
    """The same question, asked again for the same kind of fusion, has the answers it had."""
    score, kept = Signals.score_candidates, dict[tuple[object, ...], Candidates]()

    def remember(self: Signals, request: SearchRequest) -> Candidates:
        key = (id(self), request.question.text, request.mode, request.fusion.name)
        if key not in kept:
            kept.clear()  # a question goes through all ways before the next one
            kept[key] = score(self, request)
        return kept[key]

    with patch.object(Signals, "score_candidates", remember):
        yield


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("set", metavar="SET", type=Path)
    options.add_argument("--model", required=True, help="NAME or NAME:MODEL")
    options.add_argument("--models", type=Path, default=Path("models"), help="where models lie")
    options.add_argument("--shares", type=read_share, nargs="+", default=[])
    options.add_argument("--most", type=int, default=120, help="questions")
    options.add_argument("--pool", type=int, default=0, help="texts beside those judged; 0: all")
    given = options.parse_args()
    asking.DEPTH = 10  # nothing here is told of later places
    for _, embedder in make_cached([given.model], given.models):
        part = draw_pool(read_set(given.set), given.most, given.pool)
        print(f"{part.name}: {len(part.questions)} questions, {len(part.items):,} texts")
        shares = sorted(given.shares, key=lambda one: one.fusion)  # those of one side by side
        start = time.perf_counter()
        with asked_once():
            open_memory = memories_with(embedder, settings_of(embedder.name))
            evaluated = evaluate(part, [*BESIDE, *shares], open_memory)
        for one in summarise(evaluated).systems:
            mean, low, high = one.scores["nDCG@10"]
            print(f"  {one.system:<22}{mean:.4f}  {low:.3f} to {high:.3f}")
        print(f"  {embedder.name}, {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
