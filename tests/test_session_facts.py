"""What a chunk says of its session, whatever is in its metadata."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import SessionFacts
from tests.builders import NOW, SESSION_ID, make_chunk, make_exchange


def test_a_chunk_of_a_session_knows_where_it_was_said() -> None:
    [chunk] = make_exchange("Why?", title="Herons")
    assert chunk.session == SessionFacts(
        "codex", SESSION_ID, "Herons", "exchange", NOW, "/code/shop", "main", "", "gpt-6",
        f"codex:{SESSION_ID}:Why?",
    )  # fmt: skip
    assert chunk.session.short_id == "5e551011"


@pytest.mark.parametrize(
    ("session", "short"),
    [
        ("3f2b8c1e-0000-4000-8000-000000000001", "3f2b8c1e"),
        ("019a9b1c-55d2-7000-8000-000000000001", "019a9b1c-55d2"),
        ("agent-a1b2c3d4", "agent-a1b2c3d4"),
        ("ses_66a1b2c3d4e5ffeABCDEFGHIJK", "ses_66a1b2c3d4e5ffeA"),
        ("", ""),
    ],
)
def test_a_short_id_tells_sessions_of_one_minute_apart(session: str, short: str) -> None:
    assert SessionFacts("codex", session).short_id == short


def test_other_chunks_have_no_session() -> None:
    assert make_chunk().session is None
    assert make_chunk(metadata={"source": "document", "session": "x"}).session is None


def test_a_time_without_a_zone_is_utc() -> None:
    facts = make_chunk(metadata={"source": "session", "time": "2026-03-02T09:00"}).session
    assert facts is not None
    assert facts.time == datetime(2026, 3, 2, 9, tzinfo=UTC)


keys = st.sampled_from(("agent", "session", "time", "files", "edited", "title", "form"))
values = st.none() | st.integers() | st.text() | st.lists(st.text() | st.integers())


@given(st.dictionaries(keys, values))
def test_any_metadata_have_facts(metadata: dict[str, object]) -> None:
    facts = make_chunk(metadata={**metadata, "source": "session"}).session
    assert facts is not None
    assert facts.id.startswith(facts.short_id)
    assert all(isinstance(file, str) for file in (*facts.files, *facts.edited))
