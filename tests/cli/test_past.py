"""What `aur mem search` tells of the past of code: read by `aur mem index`, never by a search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.sources.repository import git, own_git

__all__ = ["own_git"]

LOG = """# Conversation: Seals
Date: 2025-12-15
Query: how are envelopes sealed

## Phase 1: Assessment
The envelope is sealed with wax.
"""


def past_of(shell: Shell, word: str, *flags: str) -> list[str]:
    """The last two cells of the first result."""
    row = shell.ok("mem", "search", word, "-n", "1", *flags).splitlines()[2]
    return [cell.strip() for cell in row.split(" | ")[5:]]


def commit(shell: Shell, days_ago: int, files: dict[str, str | bytes]) -> None:
    write_tree(shell.cwd, files)
    date = (datetime.now(UTC) - timedelta(days=days_ago, hours=1)).isoformat()
    git(shell.cwd, "add", "--all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_AUTHOR_DATE", date)
        git(shell.cwd, "commit", "--quiet", "--message", f"{days_ago} days ago")


@pytest.fixture
def tracked(shell: Shell) -> Shell:
    """A project with two commits, of which the second touched one function."""
    before = (
        "def seal_envelope():\n    return 'wax'\n\n\ndef open_envelope():\n    return 'knife'\n"
    )
    commit(shell, 60, {"post.py": before})
    commit(shell, 2, {"post.py": before.replace("wax", "string")})
    return shell


def test_it_e2e_04_git_metadata_display(tracked: Shell) -> None:
    """IT-E2E-04: real commits of the lines, each chunk its own."""
    tracked.ok("mem", "index")
    assert past_of(tracked, "seal_envelope") == ["2", "2 days ago"]
    assert past_of(tracked, "open_envelope") == ["1", "2 months ago"]


def test_a_commit_is_seen_by_the_next_index(tracked: Shell) -> None:
    tracked.ok("mem", "index")
    write_tree(tracked.cwd, {"new.py": "def fold_paper():\n    pass\n"})
    tracked.ok("mem", "index")
    assert past_of(tracked, "fold_paper") == ["- (untracked)", "- (untracked)"]
    commit(tracked, 0, {})
    assert past_of(tracked, "fold_paper") == ["- (untracked)", "- (untracked)"]
    tracked.ok("mem", "index")
    assert past_of(tracked, "fold_paper") == ["1", "1 hour ago"]


def test_without_git_nothing_is_told_until_it_is_asked(tracked: Shell) -> None:
    tracked.ok("mem", "index", "--no-git")
    assert past_of(tracked, "seal_envelope") == ["-", "-"]
    tracked.ok("mem", "index")
    assert past_of(tracked, "seal_envelope") == ["2", "2 days ago"]


def test_it_error_03_git_failure(tracked: Shell) -> None:
    """IT-ERROR-03, FR-10.3: what git cannot tell is unavailable and logged, and stops no search."""
    blob = git(tracked.cwd, "rev-parse", "HEAD:post.py").strip()
    (tracked.cwd / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    done = tracked.run("mem", "index")

    assert done.returncode == 0
    assert "git cannot tell the history of" in done.stderr
    assert past_of(tracked, "seal_envelope") == ["- (unavailable)", "- (unavailable)"]
    log = (tracked.home / "logs" / "aurora.log").read_text(encoding="utf-8")
    assert "Git blame failed for" in log


def test_prose_has_the_date_of_its_conversation(tracked: Shell) -> None:
    write_tree(tracked.home / "logs" / "conversations", {"2025/12/seals-2025-12-15.md": LOG})
    tracked.ok("mem", "index")
    assert past_of(tracked, "sealed with wax", "--type", "knowledge") == ["-", "2025-12-15"]


def test_what_was_read_long_ago_may_be_stale(tracked: Shell) -> None:
    """Seed 000, 6.4; the next index reads nothing new, and knows that all still holds."""
    tracked.ok("mem", "index")
    tracked.ask_git_long_ago()

    assert "(metadata may be stale)" in tracked.run("mem", "search", "seal_envelope").stderr
    tracked.ok("mem", "index")
    assert "stale" not in tracked.run("mem", "search", "seal_envelope").stderr


def test_the_repository_is_not_written_to(tracked: Shell) -> None:
    def listing(folder: Path) -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.lstat().st_mtime_ns, path.lstat().st_size)
            for path in sorted(folder.rglob("*"))
        }

    before = listing(tracked.cwd / ".git")
    tracked.ok("mem", "index")
    assert listing(tracked.cwd / ".git") == before
