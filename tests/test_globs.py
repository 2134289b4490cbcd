"""Patterns of ignore files, with git and pathspec as oracles, and hostile ones."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from aurora.globs import LONGEST_GLOB, parse_rule
from aurora.stores.matching import fitting_paths, name_test
from tests.properties import PHASES, examples
from tests.sources.repository import git

ATOMS = [
    "a", "b", "*", "**", "/", "?", "[ab]", "[!a]", "[^b]", "\\", "\\*", " ", "!", "#", "[a-b]",
    "[b-a]", "[]a]", "[a-]", "[[:alpha:]]", "[[:no:]]", "[", "]", "-", "a/", "**/", "/**", "\\a",
    "[\\]a]", "[a", "[!]", "\\ ", "[a/b]", "[--a]", "***", "\r", "[[:digit:]b]", "[a-",
]  # fmt: skip
LETTERS = ["a", "a", "b", "b", "c", "*", "[", "]", "-", "!", "#", " ", "\\", "1"]
# Git takes a star behind letters for `**` alone in `a**/b`, against its manual; `\/` is no use.
UNDOCUMENTED = re.compile(r"[^/]\*\*+/|\\/")


def make_pattern(chance: random.Random) -> str:
    return "".join(chance.choice(ATOMS) for _ in range(chance.randint(1, 7)))


def make_path(chance: random.Random) -> str:
    segments = ("".join(chance.choices(LETTERS, k=chance.choice([1, 1, 2, 3]))) for _ in range(9))
    return "/".join(list(segments)[: chance.randint(1, 4)])


def ignores(pattern: str, path: str) -> bool:
    """A file is ignored when it, or a folder above it, is."""
    rule = parse_rule(pattern)
    if rule is None or rule.negated:
        return False
    folders = [path[:at] for at, letter in enumerate(path, 1) if letter == "/"]
    return any(map(rule.matches, [*folders, path]))


@pytest.mark.parametrize("seed", range(4))
def test_rules_mean_what_git_says(tmp_path: Path, seed: int) -> None:
    """Each pattern is the ignore file of its own folder, so one git answers for all of them."""
    chance = random.Random(seed)  # noqa: S311 - seeded patterns, no secret
    made = (make_pattern(chance) for _ in range(300))
    patterns = [pattern for pattern in made if not UNDOCUMENTED.search(pattern)]
    asked = {}
    for number, pattern in enumerate(patterns):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / ".gitignore").write_text(f"{pattern}\n", encoding="utf-8", newline="")
        line = pattern.removesuffix("\r")
        for path in {make_path(chance) for _ in range(30)}:
            asked[f"{number}/{path}"] = (line, path)
    git(tmp_path, "init", "--quiet")
    answer = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=tmp_path, input="\0".join(asked), capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    ignored = set(answer.stdout.split("\0"))
    wrong = {
        f"{pattern!r} {path!r}"
        for place, (pattern, path) in asked.items()
        if ignores(pattern, path) != (place in ignored)
    }
    assert wrong == set()
    assert len(ignored) > len(asked) / 20  # the sample says something


# What pathspec reads as git does: no `[!a]` (there it matches a slash), no `***`, no `[a/b]`.
PLAIN = ["a", "b", "*", "**/", "/**", "/", "?", "[ab]", "[a-b]", "\\*", "!", "a/", "x", ".", " "]
GLOBS = st.lists(
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=6)
    .map("".join)
    .filter(
        lambda glob: "***" not in glob and not glob.rstrip().endswith("**/") and glob.strip(" !/")
    ),
    min_size=1,
    max_size=4,
)
PATHS = st.lists(
    st.lists(st.sampled_from(["a", "b", "x", "ab", "*", ".a", "aab"]), min_size=1, max_size=4)
    .map("/".join)
    .filter(lambda path: not path.startswith(".")),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(2000), phases=PHASES, deadline=None)
@given(globs=GLOBS, paths=PATHS)
def test_filters_mean_what_pathspec_says(globs: list[str], paths: list[str]) -> None:
    plain = [glob for glob in globs if not glob.startswith(".")]  # we also read `./a` and `.`
    spec = GitIgnoreSpec.from_lines(plain)
    assert fitting_paths(paths, plain) == [path for path in paths if spec.match_file(path)]


@pytest.mark.parametrize(
    ("glob", "fitting"),
    [
        ("src/**", ["src/a.py", "src/x/b.py"]),
        ("src", ["src/a.py", "src/x/b.py"]),
        ("**/b.py", ["src/x/b.py"]),
        ("src/*.py", ["src/a.py"]),
        ("/home", ["/home/me/log.md"]),
        ("log.md", ["/home/me/log.md"]),
        ("[[:upper:]]*", ["Notes.md"]),
        ("no[t", []),
    ],
)
def test_what_a_filter_by_path_finds(glob: str, fitting: list[str]) -> None:
    paths = ["src/a.py", "src/x/b.py", "Notes.md", "/home/me/log.md"]
    assert fitting_paths(paths, [glob]) == fitting


HOSTILE = {
    "stars": ("*a*a*a*a*a*a*a*a*a*a*a*b", "a" * 255),
    "as many stars as there may be": ("*a" * (LONGEST_GLOB // 2), "a" * 4000 + "b"),
    "one long piece": ("*" + "a" * (LONGEST_GLOB - 2) + "b", "a" * 4000),
    "classes": ("*[!b]" * (LONGEST_GLOB // 5), "a" * 4000 + "b"),
    "folders": ("**/a/" * (LONGEST_GLOB // 5) + "b", "a/" * 2000 + "a"),
    "a run of folders": ("**/" + "a/" * 500 + "b/**/c", "a/" * 2000 + "a"),
    "stars in folders": ("**/*a*a*a/" * (LONGEST_GLOB // 10) + "b", "aaaaaaaaaaa/" * 300 + "a"),
    "question marks": ("*" + "?" * 1000 + "b", "a" * 4000),
    "classes without an end": ("[[:" * (LONGEST_GLOB // 3), "a" * 4000),
}


@pytest.mark.timeout(20)  # each takes milliseconds; with a star that goes back, centuries
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_glob_is_answered_at_once(case: str) -> None:
    glob, path = HOSTILE[case]
    assert fitting_paths([path] * 20, [glob]) == []
    assert not name_test(glob)(path, path)
