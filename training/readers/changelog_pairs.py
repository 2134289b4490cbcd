"""Pairs from a change log: a line that names a symbol in code marks → its definition."""

import re
from collections.abc import Iterator, Mapping

from training.corpus import Pair
from training.readers.texts import clean_comment, is_telling, make_pair

NAMED = re.compile(r"`{1,2}~?([A-Za-z_][\w.]*?)(?:\(\)|\([^`]*\))?`{1,2}")
CHANGELOG = re.compile(
    r"(^|/)(change(s|log)?|history|news|release[-_]?notes|whats?[-_]?new)[^/]*\.(md|rst|txt)$",
    re.IGNORECASE,
)
MOST = 40  # lines of one change log


def changelog_pairs(text: str, definitions: Mapping[str, str], source: str) -> Iterator[Pair]:
    """`definitions`: the code of a package by bare name."""
    found = 0
    for entry in re.split(r"\n(?=\s*[-*+] )|\n\s*\n", text):
        named = [name.rpartition(".")[2] for name in NAMED.findall(entry)]
        code = next((definitions[name] for name in named if name in definitions), None)
        said = clean_comment(re.sub(r"^\s*[-*+] ", "", entry))
        said = re.sub(r"\(?\[?#\d+\]?\)?|\bby @?\w+|\bGH-\d+|\([^)]*https?[^)]*\)", "", said).strip(
            " .,"
        )
        if code is None or len(said) > 260 or not is_telling(said, 5):
            continue
        pair = make_pair(said, code, kind="code", source=source)
        if pair is not None and found < MOST:
            found += 1
            yield pair
