"""Which commit an edit went into: by time, branch, and the session that committed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from aurora.engine.session_lookup import Edit, name_in
from aurora.engine.why import FileHistory, link_edits
from aurora.sources.blame.line_commits import FileCommit
from tests.builders import make_chunk

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
DAY = 86_400


def commit(id_: str, minutes: float, *, amended: float = 0) -> FileCommit:
    at = int((NOON + timedelta(minutes=minutes)).timestamp())
    return FileCommit(id_, at, at + int(60 * amended), "a.py", "Ada", id_)


def edit(session: str, minutes: float = 0, branch: str = "main") -> Edit:
    facts = {"source": "session", "session": session, "agent": "codex", "branch": branch}
    at = NOON + timedelta(minutes=minutes)
    return Edit(make_chunk(created_at=at, metadata=facts), "a.py")


def linked(edits: list[Edit], *commits: FileCommit, **more: object) -> list[str]:
    made = more.pop("makers", {})
    history = FileHistory(commits=commits, **more)  # type: ignore[arg-type]
    return [link.commit for link in link_edits(edits, history, made)]  # type: ignore[arg-type]


def test_an_edit_goes_into_the_next_commit_of_the_file() -> None:
    commits = (commit("before", -5), commit("next", 5), commit("later", 9))
    assert linked([edit("s"), edit("t", 6)], *commits) == ["next", "later"]


def test_an_edit_a_week_before_every_commit_belongs_to_none() -> None:
    assert linked([edit("s")], commit("soon", 6 * DAY / 60)) == ["soon"]
    assert linked([edit("s")], commit("late", 8 * DAY / 60)) == [""]


def test_a_commit_on_the_branch_of_the_session_comes_before_an_earlier_one() -> None:
    """Two worktrees: the other one committed first."""
    on = {"other": frozenset({"main"}), "own": frozenset({"main", "feature"})}
    commits = (commit("other", 5), commit("own", 9))
    assert linked([edit("s", branch="feature")], *commits, branches=on.__getitem__) == ["own"]
    unknown = linked([edit("s", branch="gone")], *commits, branches=on.__getitem__)
    assert unknown[0] == "other"


def test_a_commit_that_the_session_made_comes_before_all_others() -> None:
    commits = (commit("other", 5), commit("own", 9))
    assert linked([edit("s")], *commits, makers={"own": {"s"}, "other": {"t"}}) == ["own"]


def test_an_edit_for_an_amended_commit_belongs_to_it() -> None:
    """Its author's time is from before the edit."""
    assert linked([edit("s")], commit("amended", -5, amended=30)) == ["amended"]


def test_a_long_exchange_may_lead_to_two_commits() -> None:
    assert linked([edit("s")], commit("first", 5), commit("second", 40)) == ["first", "second"]
    assert linked([edit("s")], commit("first", 5), commit("second", 400)) == ["first"]
    on = {"first": frozenset({"main"}), "second": frozenset({"other"})}
    commits = (commit("first", 5), commit("second", 40))
    assert linked([edit("s")], *commits, branches=on.__getitem__) == ["first"]


def test_paths_are_those_of_the_repository_in_any_checkout() -> None:
    folders = ["/w/shop-fix", "/code/shop"]
    assert name_in(folders, "src/a.py", "/w/shop-fix") == "src/a.py"
    assert name_in(folders, "a.py", "/code/shop/src") == "src/a.py"
    assert name_in(folders, "/code/shop/a.py", "/elsewhere") == "a.py"
    assert name_in(folders, "a.py", "/code/shop/.claude/worktrees/x") == "a.py"
    assert name_in(folders, "a.py", "/code/shopping") == ""
    assert name_in(folders, "a.py", "") == ""
