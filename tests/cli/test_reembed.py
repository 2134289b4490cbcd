"""`aur mem reembed`: another model takes over, and no search is the worse for it meanwhile."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.embeddings.turtle import install

TURTLE = ("-c", "embedding.provider=turtle")
FILES: dict[str, str | bytes] = {
    f"part{n}.py": "".join(f"def work_{n}_{m}(a):\n    return {m}\n\n\n" for m in range(10))
    for n in range(8)
}


@pytest.fixture
def turtle(shell: Shell, tmp_path: Path) -> Shell:
    """An indexed project, and a package that brings another model."""
    write_tree(shell.cwd, FILES)
    shell.ok("mem", "index", ".")
    shell.environ = install(tmp_path / "turtle")
    return shell


def embedder(shell: Shell) -> tuple[str, int, int]:
    stats = json.loads(shell.ok("mem", "stats", "--json"))
    return stats["embedder"]["name"], stats["embedded"], stats["chunks"]


def made(shell: Shell) -> int:
    log = Path(shell.environ["TURTLE_LOG"])
    return len(log.read_text()) if log.exists() else 0


def answer(shell: Shell, *flags: str) -> list[tuple[str, float]]:
    """By meaning alone; nothing may be said on stderr."""
    done = shell.run(*flags, "mem", "search", "check credentials", "--mode", "semantic", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    results = json.loads(done.stdout)["results"]
    assert results
    return [(result["id"], result["score"]) for result in results]


def test_the_vectors_become_those_of_the_model_that_the_settings_choose(turtle: Shell) -> None:
    name, embedded, chunks = embedder(turtle)
    assert (name, embedded) == ("aurora/deep", chunks)

    told = turtle.ok(*TURTLE, "mem", "reembed")
    words = f"The vectors are turtle/slow's, not aurora/deep's: {chunks} chunks embedded"
    assert told.strip() == words
    assert embedder(turtle) == ("turtle/slow", chunks, chunks)
    assert made(turtle) == chunks
    assert answer(turtle, *TURTLE)
    assert turtle.ok(*TURTLE, "mem", "reembed").startswith(
        "The vectors are turtle/slow's: 0 chunks"
    )


def test_a_search_goes_by_the_old_vectors_until_then(turtle: Shell) -> None:
    before = answer(turtle)
    turtle.environ["TURTLE_PAUSE"] = "0.1"
    with turtle.start(*TURTLE, "mem", "reembed") as running:
        wait_for(turtle, 10)
        assert answer(turtle) == answer(turtle, *TURTLE) == before
        assert running.poll() is None
    assert running.returncode == 0
    assert answer(turtle, *TURTLE)


def test_killed_it_goes_on_where_it_was(turtle: Shell) -> None:
    before, (_, _, chunks) = answer(turtle), embedder(turtle)
    turtle.environ["TURTLE_PAUSE"] = "0.1"
    for least in (10, 40):
        with turtle.start(*TURTLE, "mem", "reembed") as running:
            wait_for(turtle, least)
            running.send_signal(signal.SIGKILL)
        assert embedder(turtle) == ("aurora/deep", chunks, chunks)
        assert answer(turtle) == before
    turtle.environ["TURTLE_PAUSE"] = "0"

    done = turtle.run(*TURTLE, "mem", "reembed")
    assert done.returncode == 0
    assert "chunks have a vector of turtle/slow already" in done.stderr
    assert embedder(turtle) == ("turtle/slow", chunks, chunks)
    assert made(turtle) <= chunks + 2 * 4  # a kill loses two batches in hand, and no more


def test_what_is_new_meanwhile_is_found_and_in_the_end_embedded(turtle: Shell) -> None:
    turtle.environ["TURTLE_PAUSE"] = "0.1"
    with turtle.start(*TURTLE, "mem", "reembed") as running:
        wait_for(turtle, 10)
        turtle.ok("mem", "learn", "verify credentials before anything else")
        assert any(id_.startswith("reasoning") for id_, _ in answer(turtle))
    assert running.returncode == 0
    name, embedded, chunks = embedder(turtle)
    assert (name, embedded) == ("turtle/slow", chunks)


def test_index_keeps_to_the_memorys_own_model_and_says_so(turtle: Shell) -> None:
    write_tree(turtle.cwd, {"new.py": "def brand_new():\n    pass\n"})
    done = turtle.run(*TURTLE, "mem", "index", ".")
    assert done.returncode == 0
    assert "Vectors here are of aurora/deep; `aur mem reembed`" in done.stderr
    name, embedded, chunks = embedder(turtle)
    assert (name, embedded, made(turtle)) == ("aurora/deep", chunks, 0)


def test_without_a_provider_there_is_nothing_to_make(turtle: Shell) -> None:
    told = turtle.fails("-c", "embedding.provider=none", "mem", "reembed")
    assert "`embedding.provider` is none" in told
    told = turtle.fails("-c", "embedding.provider=tortoise", "mem", "reembed")
    assert "There is no embedding provider 'tortoise'" in told
    assert "aurora, onnx, sentence-transformers, openai, turtle, none" in told


def test_vectors_of_a_stranger_are_told_of_and_words_go_on(turtle: Shell) -> None:
    """The file of a memory does not say which code runs: its package must be chosen, too."""
    turtle.ok(*TURTLE, "mem", "reembed")
    done = turtle.run("mem", "search", "authenticate_user")
    assert done.returncode == 0
    assert "vectors of turtle/slow, and the embedder chosen is aurora" in done.stderr
    assert "aur mem reembed" in done.stderr
    assert "auth_manager.py" in done.stdout
    assert turtle.ok("mem", "reembed").startswith("The vectors are aurora/deep's, not")
    assert answer(turtle)


def wait_for(shell: Shell, texts: int) -> None:
    until = time.monotonic() + 60
    while made(shell) < texts:
        assert time.monotonic() < until, "nothing is embedded"
        time.sleep(0.02)
