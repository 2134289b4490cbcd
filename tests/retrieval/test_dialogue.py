"""Exchanges with agents: judged with their neighbours, answers before questions, newest first."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from math import fsum
from pathlib import Path

import pytest

from aurora.indexing.session_chunks import exchange_chunks
from aurora.redaction import Redactor
from aurora.retrieval.collapse import Collapse
from aurora.retrieval.dialogue import Said, is_same_matter, read_exchange
from aurora.sources.sessions.base import Exchange, Session, ToolKind, ToolUse
from aurora.types import Chunk, Criteria, Query, SearchResult
from tests.builders import NOW, make_chunk, make_exchange
from tests.retrieval.conftest import Searched

QUESTION = "how is the payment webhook verified"
ANSWER = "verify_signature computes an HMAC of the body with the secret in the vault."
_numbers = count()


def said(asked: str, answered: str, session: str = "s", *, seq: int = 1, age: int = 0) -> Chunk:
    """The chunk of an exchange, so many days old."""
    number, time = next(_numbers), NOW - timedelta(days=age)
    exchange = Exchange(f"codex:{number}", "codex", session, asked, answered, time, seq=seq)
    return exchange_chunks(Session("codex", session, Path("s")), exchange, Redactor())[0]


def rows(memory: Searched, text: str = QUESTION, **options: object) -> list[SearchResult]:
    return list(memory.search(text, **options).results)  # type: ignore[arg-type]


def sessions(memory: Searched, text: str = QUESTION) -> list[str]:
    return [str(row.metadata["session"]) for row in rows(memory, text)]


def part(row: SearchResult, signal: str) -> float:
    return next((part.value for part in row.contributions if part.signal == signal), 0.0)


def noise(many: int = 12) -> list[Chunk]:
    """Sessions about other things."""
    return [said(f"kettle number {n}?", f"It boils in {n} minutes.", f"n{n}") for n in range(many)]


# Neighbours


def test_an_exchange_gains_from_the_one_beside_it(memory: Searched) -> None:
    """The far one is no neighbour: another exchange is between them."""
    memory.put(
        *noise(),
        said("And then?", "The heron waits for rain.", "far", seq=3),
        said("Which heron?", "The webhook is verified for a payment.", "far", seq=1),
        said("And now?", "The heron waits for snow.", "near", seq=2),
        said("Whose heron?", "The webhook is verified for a refund.", "near", seq=1),
    )
    text = "heron waits webhook verified"
    found = {row.content[-5:]: row for row in rows(memory, text) if "waits" in row.content}

    assert found["snow."].score > found["rain."].score
    assert part(found["snow."], "context") > 0.0 == part(found["rain."], "context")


# The answer, and the question repeated


@pytest.mark.parametrize(
    "empty", ["", "Let me look at that.", "I don't know yet.", "API Error: 529 overloaded."]
)
def test_the_answer_comes_before_the_question_repeated(memory: Searched, empty: str) -> None:
    memory.put(
        *noise(), said(QUESTION, empty, "empty"),
        said("where does the 401 come from?", f"The webhook is verified: {ANSWER}", "answer"),
    )  # fmt: skip
    first, second, *_ = rows(memory)

    assert [first.metadata["session"], second.metadata["session"]] == ["answer", "empty"]
    assert part(second, "unanswered") < 0.0
    assert fsum(part.value for part in second.contributions) == pytest.approx(second.score)


def test_a_question_with_an_answer_keeps_its_place(memory: Searched) -> None:
    memory.put(*noise(), said(QUESTION, "By its HMAC.", "short"), said("webhook?", ANSWER, "other"))

    assert sessions(memory)[0] == "short"


# The same matter in several sessions


def same_matter() -> list[Chunk]:
    return [
        said("How is the payment webhook verified?", f"By its HMAC. {ANSWER}", "old", age=30),
        said("how is the payment webhook verified again", ANSWER, "older", age=60),
        said("Where is the payment webhook verified?", f"{ANSWER} See webhook.py.", "new", age=1),
        said("payment webhook returns 401, is it verified?", f"Yes: {ANSWER}", "oldest", age=90),
    ]


def test_a_matter_of_several_sessions_is_one_row_with_the_newest_first(memory: Searched) -> None:
    memory.put(*noise(), *same_matter())
    row = rows(memory)[0]

    assert (row.metadata["session"], row.more) == ("new", 3)
    assert fsum(part.value for part in row.contributions) == pytest.approx(row.score)
    assert not {"old", "older", "oldest"} & set(sessions(memory))


def test_the_newest_is_as_sure_as_the_best_at_its_place(memory: Searched) -> None:
    memory.put(*noise(), *same_matter())
    together = rows(memory)[0]
    memory.store.chunks.delete_chunks([together.chunk_id])
    best = rows(memory)[0]

    assert best.metadata["session"] != "new"
    assert together.score >= best.score - 1e-9
    assert together.relevance >= best.relevance - 1e-9


def test_an_earlier_session_is_found_when_it_is_asked_for(memory: Searched) -> None:
    memory.put(*noise(), *same_matter())
    older = Criteria(metadata=(("session", "older"),))
    found = memory.retriever().retrieve(Query(QUESTION, criteria=older)).results

    assert [row.metadata["session"] for row in found] == ["older"]


def test_the_row_does_not_depend_on_the_limit(memory: Searched) -> None:
    memory.put(*noise(), *same_matter())

    assert rows(memory, limit=1)[0].chunk_id == rows(memory, limit=20)[0].chunk_id


@pytest.mark.parametrize(
    ("asked", "answered", "session"),
    [
        ("How is the payment webhook verified?", f"By its HMAC. {ANSWER}", "one"),
        ("How is the payment key rotated?", "Write it to the vault, restart payments.", "other"),
        ("How is the payment webhook verified?", "The job of Monday does it by hand.", "other"),
        ("What does this function do?", f"By its HMAC. {ANSWER}", "other"),
    ],
    ids=["same-session", "other-matter", "other-answer", "other-question"],
)
def test_another_matter_is_another_row(asked: str, answered: str, session: str) -> None:
    one = read_exchange(said("How is the payment webhook verified?", f"HMAC. {ANSWER}", "one"))
    other = read_exchange(said(asked, answered, session))

    assert one is not None
    assert other is not None
    assert not is_same_matter(one, other)


def test_a_row_does_not_go_from_matter_to_matter() -> None:
    """Each is like the one before it, and the last has nothing of the first."""
    words = [f"w{n}" for n in range(40)]
    texts = [" ".join(words[start : start + 10]) for start in (0, 3, 6, 9, 12, 15)]
    collapse = Collapse()
    owners = [collapse.owner(said(text, text, f"s{n}"), n) for n, text in enumerate(texts)]

    assert owners[:2] == [0, 0]
    assert owners[-1] != 0


def test_only_whole_exchanges_are_compared() -> None:
    assert read_exchange(make_chunk("Asked: why\n\nAnswered: so")) is None
    assert read_exchange(said("Why not?", "So.")) == Said("s", frozenset(), frozenset(), NOW)


# One row, and the project that is asked


def test_all_pieces_of_an_exchange_are_one_row(memory: Searched) -> None:
    failed = ToolUse("1", "Bash", ToolKind.COMMAND, "make webhook", "payment refused", failed=True)
    pieces = make_exchange(QUESTION, f"We decided to keep the webhook. {ANSWER}", failed)
    memory.put(*noise(), *pieces)
    first, *others = rows(memory)
    assert {chunk.metadata["form"] for chunk in pieces} == {"exchange", "decision", "command"}
    assert first.more == 2
    assert all(row.metadata["exchange"] != first.metadata["exchange"] for row in others)


@pytest.mark.parametrize("began", ["/code/shop", "/code/shop/api"])
def test_sessions_of_the_project_that_is_asked_come_first(memory: Searched, began: str) -> None:
    asked = "How is a webhook verified?"
    own = make_exchange(asked, "Ada keeps keys.", session="own", project=began)
    other = make_exchange(asked, "Grace signs letters.", session="other", project="/code/shopping")
    memory.put(*noise(), *other, *own)
    query = Query("which payment webhook is verified")
    anywhere = memory.retriever().retrieve(query).results
    found = memory.retriever(projects=frozenset({"/code/shop"})).retrieve(query).results
    assert [row.metadata["session"] for row in anywhere[:2]] == ["other", "own"]
    assert [row.metadata["session"] for row in found[:2]] == ["own", "other"]
    assert part(found[1], "elsewhere") < 0.0 == part(found[0], "elsewhere")
