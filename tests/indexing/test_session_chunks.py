"""An exchange becomes chunks: the talk, decisions, commands, and what mended an error."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.indexing.session_chunks import exchange_chunks, only_looks
from aurora.redaction import MARK, Redactor
from aurora.sources.sessions.base import Exchange, Session, ToolKind, ToolUse
from aurora.types import Chunk, Kind

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SESSION = Session(
    agent="codex", id="s-1", path=Path("/t/s-1.jsonl"), title="Invoices", project="/code/shop",
    branch="main", model="gpt-6", started=AT, ended=AT,
)  # fmt: skip


def exchange(*tools: ToolUse, asked: str = "", answered: str = "", **facts: object) -> Exchange:
    made = Exchange("codex:m-1", "codex", "s-1", asked, answered, AT, "gpt-6", tools)
    known: dict[str, object] = {"branch": "main", "cwd": "/code/shop"}
    return replace(made, **(known | facts))  # type: ignore[arg-type]


def command(line: str, outcome: str = "", *, id_: str = "c", **facts: object) -> ToolUse:
    return ToolUse(id_, "Bash", ToolKind.COMMAND, line, outcome, **facts)  # type: ignore[arg-type]


def edit(file: str, change: str) -> ToolUse:
    return ToolUse("e", "Edit", ToolKind.EDIT, f"{file}\n{change}", "ok", files=(file,))


def chunks(made: Exchange, form: str = "") -> list[Chunk]:
    found = exchange_chunks(SESSION, made, Redactor())
    return [chunk for chunk in found if not form or chunk.metadata["form"] == form]


def test_what_was_asked_and_answered_is_one_chunk() -> None:
    made = exchange(edit("/code/shop/a.py", "+ x"), asked="Why?\nReally", answered="So.")

    assert chunks(made) == [
        Chunk(
            id="session:codex:m-1",
            kind=Kind.KNOWLEDGE,
            name="Why?",
            content="Asked: Why?\nReally\n\nAnswered: So.\n\nEdited: a.py",
            qualified_name="Invoices",
            language="markdown",
            created_at=AT,
            metadata={
                "source": "session",
                "agent": "codex",
                "session": "s-1",
                "title": "Invoices",
                "exchange": "codex:m-1",
                "model": "gpt-6",
                "project": "/code/shop",
                "branch": "main",
                "time": "2026-03-02T09:00:00+00:00",
                "edited": ["a.py"],
                "files": ["a.py"],
                "form": "exchange",
            },
        )
    ]


def test_a_long_answer_comes_in_pieces_and_loses_nothing() -> None:
    lines = [f"line {number}" for number in range(2000)]

    pieces = chunks(exchange(asked="Tell", answered="\n".join(lines)), "exchange")

    assert [piece.id for piece in pieces][:3] == [
        "session:codex:m-1", "session:codex:m-1@2", "session:codex:m-1@3",
    ]  # fmt: skip
    assert max(len(piece.content) for piece in pieces) <= 4000
    assert "\n".join(piece.content for piece in pieces).endswith("\n".join(lines[1:]))


def test_sentences_that_tell_a_decision_are_a_chunk_with_their_question() -> None:
    made = exchange(
        asked="Which money type? Never use float.",
        answered="I looked around. We decided to use Decimal.\n```\nnever in code\n```\n"
        "- Go with two digits instead of four.",
    )

    (chunk,) = chunks(made, "decision")

    assert chunk.id == "session:codex:m-1:decisions"
    assert chunk.content == (
        "Which money type? Never use float.\n- Never use float.\n"
        "- We decided to use Decimal.\n- Go with two digits instead of four."
    )


def test_a_summary_is_marked_and_has_no_decisions_of_its_own() -> None:
    made = exchange(answered="We decided to use Decimal everywhere.", is_summary=True)
    assert [(chunk.metadata["form"], chunk.name) for chunk in chunks(made)] == [
        ("summary", "Invoices")
    ]


def test_a_command_is_kept_once_with_its_last_outcome() -> None:
    made = exchange(
        command("make test", "1 failed", id_="c1", failed=True, exit_status=2),
        command("git status", "clean", id_="c2"),
        command("make test", "all passed", id_="c3", exit_status=0),
    )

    (chunk,) = chunks(made, "command")

    assert (chunk.id, chunk.name) == ("session:codex:m-1:command:c1", "make test")
    assert chunk.content == "$ make test\nall passed"
    assert chunk.metadata["failed"] is False
    assert chunk.metadata["exit_status"] == 0


def test_a_command_that_failed_says_so() -> None:
    told = [chunk.content for chunk in chunks(
        exchange(command("make a", "no rule", failed=True, exit_status=2),
                 command("make b", "", failed=True)),
        "command",
    )]  # fmt: skip
    assert told == ["$ make a\nno rule\nexit status 2", "$ make b\nfailed"]


@pytest.mark.parametrize(
    ("line", "looks"),
    [
        ("ls -la", True),
        ("cd src && rg -n total | head -5", True),
        ("LANG=C git -C x log --oneline", True),
        ("git --no-pager diff; git status", True),
        ("sed -n 1,20p a.py", True),
        ("/usr/bin/grep x y", True),
        ("sed -i s/a/b/ a.py", False),
        ("echo x > a.txt", False),
        ("echo x >a.txt", False),
        ("git commit -m x", False),
        ("ls && make", False),
        ("pytest -q", False),
    ],
)
def test_commands_that_only_show_something_are_known(line: str, looks: bool) -> None:
    assert only_looks(line) is looks


def test_an_error_and_the_change_that_mended_it_are_one_chunk() -> None:
    made = exchange(
        edit("before.py", "+ early"),
        command("pytest -q", "E  KeyError: 'vat'", id_="c1", failed=True, exit_status=1),
        edit("vat.py", "- vat\n+ tax"),
        command("ls", "vat.py"),
        command("pytest -q", "1 passed", id_="c2"),
        edit("after.py", "+ late"),
    )

    (chunk,) = chunks(made, "fix")

    assert (chunk.id, chunk.name) == ("session:codex:m-1:fix:c1", "E  KeyError: 'vat'")
    assert chunk.content == (
        "$ pytest -q\nE  KeyError: 'vat'\nexit status 1\n\nMended by:\nvat.py\n- vat\n+ tax"
    )


@pytest.mark.parametrize(
    "then",
    [
        [],
        [edit("a.py", "+ x")],
        [edit("a.py", "+ x"), command("pytest -q", "again", failed=True)],
        [command("pytest -q", "flaky")],
        [edit("a.py", "+ x"), command("make", "another")],
    ],
    ids=["nothing", "no second run", "failed again", "no edit", "another command"],
)
def test_without_an_edit_and_a_pass_nothing_mended_it(then: list[ToolUse]) -> None:
    assert chunks(exchange(command("pytest -q", "no", failed=True), *then), "fix") == []


def test_a_failure_without_an_edit_is_mended_by_the_commands_between() -> None:
    """Without those that only show something, or failed themselves."""
    between = [
        command("ls"),
        command("pip install nunpy", failed=True),
        command("pip install numpy"),
    ]
    made = exchange(command("pytest -q", "no", failed=True), *between, command("pytest -q", "ok"))
    (chunk,) = chunks(made, "fix")
    assert chunk.content == "$ pytest -q\nno\nfailed\n\nPassed after:\n$ pip install numpy"


def test_paths_are_those_of_the_project() -> None:
    made = exchange(
        edit("/code/shop/src/a.py", ""), edit("./b.py", ""), edit("/etc/hosts", ""),
        edit("/code/shop/docs/c.md", ""), cwd="/code/shop/docs",
    )  # fmt: skip
    (chunk,) = chunks(made)
    assert chunk.metadata["edited"] == ["src/a.py", "docs/b.py", "/etc/hosts", "docs/c.md"]


def test_no_secret_leaves_in_any_field() -> None:
    made = exchange(
        command(f"curl -H 'Authorization: Bearer {TOKEN}' x", TOKEN, id_="c1", failed=True),
        edit("a.py", f"+ key = '{TOKEN}'"),
        command(f"curl -H 'Authorization: Bearer {TOKEN}' x", "ok", id_="c2"),
        asked=f"{TOKEN} never use that one",
        answered=f"We decided to drop {TOKEN} now.",
        branch=f"b/{TOKEN}",
        thinking=TOKEN,
    )
    redactor = Redactor()

    found = exchange_chunks(replace(SESSION, title=f"T {TOKEN}"), made, redactor)

    assert {chunk.metadata["form"] for chunk in found} == {
        "exchange", "decision", "command", "fix",
    }  # fmt: skip
    for chunk in found:
        told = f"{chunk.id}{chunk.name}{chunk.qualified_name}{chunk.content}"
        assert TOKEN not in told + json.dumps(dict(chunk.metadata))
        assert MARK in told
    assert redactor.kinds.total() > 0


def test_ids_of_agents_are_not_taken_for_secrets() -> None:
    session, id_ = "3f2b8c1e-0c55-4b8e-9a57-6c1d2f7a9e01", "codex:0195a2f0-1111-7aaa-8bbb-00000001"
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    made = exchange(asked="Why?", session=session, id=id_, commit=commit)
    (chunk,) = exchange_chunks(replace(SESSION, id=session), made, Redactor())
    facts = chunk.metadata
    assert (facts["session"], facts["exchange"], facts["commit"]) == (session, id_, commit)


def test_only_the_first_exchange_has_the_title_in_its_words() -> None:
    """In all of them, the chunks of a session would be alike."""
    names = [chunks(exchange(asked="Why?", answered="So.", seq=seq))[0] for seq in (1, 2)]

    assert [chunk.qualified_name for chunk in names] == ["Invoices", ""]
    assert [chunk.metadata["title"] for chunk in names] == ["Invoices", "Invoices"]
    assert [chunk.metadata["seq"] for chunk in names] == [1, 2]


def test_not_to_know_is_no_decision() -> None:
    assert not chunks(exchange(asked="Why?", answered="I don't know why it fails."), "decision")
