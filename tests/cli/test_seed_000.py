"""Integration tests of seed 000, by their numbers, through the real `aur`.

The others are beside what they are about: IT-E2E-01, IT-ERROR-01 and 02 in `test_index.py`,
IT-E2E-04 and IT-ERROR-03 in `test_past.py`, IT-REBUILD-02 in `test_commands.py`, IT-REBUILD-03,
IT-ERROR-04, 05 and 07 in `test_bad_input.py`.
"""

from __future__ import annotations

import pytest

from aurora.retrieval.candidates import NO_KEYWORD
from tests.backends import with_index_files
from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.cli.test_index import python
from tests.cli.test_search import column

# A model whose synonyms are known, as a Python program may give one.
WITH_WORDS = """
import functools
from aurora import engine
from aurora.cli import main
from aurora.engine import Memory
from tests.embedders import WordsProvider
engine.Memory = functools.partial(Memory, embedder=WordsProvider())
main.main()
"""


@pytest.fixture
def mixed(shell: Shell) -> Shell:
    """Code, a lesson and a conversation about the same thing."""
    write_tree(shell.cwd, {"login.py": "def auth_login():\n    '''Auth by password.'''\n"})
    write_tree(
        shell.home / "logs" / "conversations" / "2025" / "12",
        {"auth-2025-12-15.md": "# Conversation: Auth\n\n## Phase 1: Assessment\nAuth is hard.\n"},
    )
    shell.ok("init")
    shell.ok("mem", "learn", "auth before anything else")
    shell.ok("mem", "index")
    return shell


def test_it_e2e_02_type_filtering(mixed: Shell) -> None:
    """IT-E2E-02: only functions, and all that there were without the filter."""
    everything = mixed.ok("mem", "search", "auth")
    rows = mixed.ok("mem", "search", "auth", "--type", "function")

    assert {"function", "reas", "know"} <= set(column(everything, 1))
    assert set(column(rows, 1)) == {"function"}
    pairs = zip(column(everything, 1), column(everything, 2), strict=True)
    assert column(rows, 2) == [name for kind, name in pairs if kind == "function"]


@pytest.mark.parametrize("fusion", ["weighted", "staged"])
def test_it_e2e_03_score_ranking(shell: Shell, fusion: str) -> None:
    """IT-E2E-03: the more of the question a chunk has, the higher its score and its place."""
    words = ("alder", "birch", "cedar", "dogwood")
    write_tree(
        shell.cwd,
        {f"{n}.py": f"def f{n}():\n    return '{' '.join(words[: n + 1])}'\n" for n in range(4)},
    )
    shell.ok("mem", "index")

    table = shell.ok("mem", "search", *words, "--fusion", fusion, "--limit", "4")

    scores = [float(score) for score in column(table, 4)]
    assert column(table, 2) == ["f3", "f2", "f1", "f0"]
    assert scores == sorted(set(scores), reverse=True)


@with_index_files
def test_it_rebuild_01_auto_detection(shell: Shell) -> None:
    """IT-REBUILD-01: an index of 100 chunks, a memory of 150; the search makes good for it."""
    index = shell.cwd / ".aurora" / "indexes" / "bm25.idx"
    many = "".join(f"def apple_{n}(): pass\n" for n in range(100))
    write_tree(shell.cwd / "src", {"apples.py": many})
    assert "Built (100 chunks indexed" in shell.ok("mem", "index", "src")
    of_100 = index.read_bytes()
    write_tree(
        shell.cwd / "src", {"pears.py": many.replace("apple", "pear").split("def pear_50")[0]}
    )
    assert "Built (150 chunks indexed" in shell.ok("mem", "index", "src")
    index.write_bytes(of_100)

    found = shell.ok("mem", "search", "pear", "--mode", "keyword", "--limit", "100")

    assert sorted(column(found, 2)) == sorted(f"pear_{n}" for n in range(50))
    assert index.read_bytes() != of_100


def test_it_error_06_zero_bm25_matches(shell: Shell) -> None:
    """IT-ERROR-06, FR-10.5: no chunk has a word of the question, and meaning finds it."""
    assert python(shell, WITH_WORDS, "mem", "index").returncode == 0
    by_words = shell.ok("mem", "search", "signin credentials", "--mode", "keyword")
    assert by_words.startswith("No relevant results")

    done = python(shell, WITH_WORDS, "mem", "search", "signin credentials")

    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == NO_KEYWORD
    assert set(column(done.stdout, 2)[:2]) == {"Login", "authenticate_user"}
