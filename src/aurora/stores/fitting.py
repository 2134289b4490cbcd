"""What fits a criterion: globs on paths and names, and values of metadata. No database in sight."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from aurora.globs import Rule, parse_rule
from aurora.text import fold_name
from aurora.types import Json

_WILDCARD = re.compile(r"[*?\[]")


def fitting_paths(paths: Iterable[str], globs: Sequence[str]) -> list[str]:
    """The paths that globs of `.gitignore` match; a folder's name matches all below it.

    An empty path matches no glob, and a glob that git cannot read matches nothing.
    """
    rules = [rule for glob in globs if (rule := parse_rule(_as_rule(glob)))]
    return [path for path in paths if path and _fits(path.removeprefix("/"), rules)]


def _fits(path: str, rules: Sequence[Rule]) -> bool:
    """The last rule that means the file decides, else the last that means a folder above it."""
    verdict = None
    for rule in reversed(rules):
        match = rule.regex.match(path)
        if match is not None and match.end() == len(path):
            return not rule.negated
        if match is not None and verdict is None:
            verdict = not rule.negated
    return bool(verdict)


def _as_rule(glob: str) -> str:
    """A glob as a line of `.gitignore`: people also write `./src`, `.` and `#1.md`."""
    inside = glob.removeprefix("./")
    if inside in ("", "."):
        return "**" if glob else ""
    return f"\\{inside}" if inside.startswith("#") else inside


def has_wildcard(glob: str) -> bool:
    return _WILDCARD.search(glob) is not None


def literal_parts(glob: str) -> list[str]:
    """Texts that every name fitting a glob holds in this order, in ASCII of any case."""
    parts = re.split(r"[*?]+", glob.partition("[")[0])
    return [part for part in parts if part and part.isascii()]


def name_test(glob: str) -> Callable[[str, str], bool]:
    """Whether a name and a qualified name fit: by wildcards, or else equal up to spelling."""
    if has_wildcard(glob):
        fits = re.compile(fnmatch.translate(glob), re.IGNORECASE).match
        return lambda name, qualified: bool(fits(name) or fits(qualified))
    folded, lowered = fold_name(glob), glob.casefold()
    return lambda name, qualified: fold_name(name) == folded or qualified.casefold() == lowered


def metadata_fits(metadata: Mapping[str, Json], key: str, value: str) -> bool:
    """Whether the value of a top-level key, or an item of its list, reads so."""
    if key not in metadata:
        return False
    own = metadata[key]
    return any(_as_text(item) == value for item in (own if isinstance(own, list) else [own]))


def _as_text(value: Json) -> str | None:
    """A value as a person would type it; objects and lists are none."""
    if isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)
