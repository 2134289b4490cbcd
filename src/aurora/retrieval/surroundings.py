"""Where the candidates of a question stand, as a fusion wants to know it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from aurora.fusion.surroundings import Surroundings
from aurora.stores.base import Store
from aurora.text import tokenize
from aurora.types import Place

# What stands aside in a repository, by its path, and the words of who asks for it nevertheless.
_ASIDE = {
    re.compile(
        r"(?:^|/)(?:tests?|testing|specs?|__tests__|testdata|test_data|fixtures?)/"
        r"|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_spec|[.-]test|[.-]spec|[a-z]Tests?)|conftest)\.\w+$"
    ): frozenset(("test", "tests", "testing", "spec", "specs", "fixture", "fixtures", "mock")),
    re.compile(r"(?:^|/)_?(?:examples?|samples?|demos?|tutorials?|playground|docs?|docs_src)/"):
        frozenset(("example", "examples", "sample", "demo", "tutorial", "docs", "documentation")),
    re.compile(
        r"(?:^|/)(?:vendor|vendored|_vendor|third_party|thirdparty|node_modules|dist|build|compat"
        r"|_compat|legacy|deprecated|generated|migrations)/"
        r"|\.min\.\w+$|\.d\.ts$|\.pb\.\w+$|_pb2(?:_grpc)?\.py$|[._]generated\.|\.g\.\w+$"
    ): frozenset(
        ("vendor", "vendored", "generated", "build", "compat", "compatibility", "legacy",
         "deprecated", "migration", "migrations", "types", "typings", "protobuf")
    ),
}  # fmt: skip


def look_around(
    store: Store, rows: Collection[int], words: str, *, best: frozenset[int]
) -> Surroundings:
    """`words`: those of the question, which may ask for tests or examples."""
    places, asked = store.get_places(list(rows)), frozenset(tokenize(words))
    code = frozenset(row for row, place in places.items() if not place.kind.is_prose)
    unasked = [pattern for pattern, words_ in _ASIDE.items() if asked.isdisjoint(words_)]
    return Surroundings(
        best,
        {row: place.home for row, place in places.items()},
        code,
        frozenset(row for row in code if any(one.search(places[row].path) for one in unasked)),
        _beside(places),
    )


def _beside(places: Mapping[int, Place]) -> dict[int, list[int]]:
    """The turns right before and after each, of those that are candidates themselves."""
    turns: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row, place in places.items():
        if place.conversation:
            turns[place.conversation, place.turn].append(row)
    return {
        row: [
            other
            for turn in (place.turn - 1, place.turn + 1)
            for other in turns.get((place.conversation, turn), ())
        ]
        for row, place in places.items()
        if place.conversation
    }
