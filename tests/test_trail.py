"""From code to talk and back, over sessions that really edited, failed and mended a repository."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora import ChunkNotFoundError, Memory, Places, QueryError
from tests.builders import write_tree
from tests.recorded_sessions import Story

pytestmark = pytest.mark.one_store("about the person's memory, which is a file")

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
UPLOAD = """def send(part):
    return len(part)


def upload(video):
    return [send(part) for part in video]
"""
TEST = """import unittest

from src.upload import upload


class TestUpload(unittest.TestCase):
    def test_parts(self):
        self.assertEqual(upload(["ab", "c"]), [2, 1])

    def test_none(self):
        self.assertEqual(upload(None), [])
"""
CHECK = "python -m unittest -q tests.test_upload"


def tell(story: Story, root: Path) -> None:
    """The whole story: an empty upload, a worktree, a rename, a build, a deployment, a note."""
    write_tree(root, {
        "src/upload.py": UPLOAD, "src/__init__.py": "", "tests/__init__.py": "",
        "src/colours.py": "RED = 1\nBLUE = 2\n",
        "tests/test_upload.py": TEST, ".gitignore": ".aurora\n.claude\n__pycache__\n",
        "pack.sh": "touch build/pack && echo packed\n",
    })  # fmt: skip
    story.git(root, "init", "-q", "-b", "main")
    story.git(root, "add", ".")
    story.git(root, "commit", "-qm", "Start the shop")
    story.wait(days=1)
    _mend_uploads(story, root)
    story.wait(hours=5)
    _resume_in_a_worktree(story, root)
    story.wait(days=1)
    _rename(story, root)
    story.wait(days=1)
    _build_and_deploy(story, root)
    _elsewhere(story, root.parent / "other")
    _try_in_a_worktree(story, root)


def _mend_uploads(story: Story, root: Path) -> None:
    session = story.session(root, "Uploads without a video")
    session.ask("How should upload treat a missing video?")
    session.read("src/upload.py")
    session.answer("An empty list. We decided to return nothing instead of raising an error.")
    story.wait(minutes=10)
    session.ask("The upload of None fails, mend it")
    session.bash(CHECK)
    session.edit("src/upload.py", "for part in video]", "for part in video or ()]")
    session.bash(CHECK)
    session.bash("git commit -am 'Upload nothing for no video'")
    session.answer("Done.")


def _resume_in_a_worktree(story: Story, root: Path) -> None:
    """Its commit says nothing, and the worktree goes away."""
    tree = root.parent / "shop-resume"
    story.git(root, "worktree", "add", "-q", "-b", "resume", str(tree))
    session = story.session(tree, "Count the bytes")
    session.ask("send should count bytes, not letters")
    session.edit("src/upload.py", "return len(part)", "return len(part.encode())")
    story.wait(minutes=16)
    session.bash("git commit -aqm 'Count bytes'")
    story.git(root, "merge", "-q", "resume")


def _rename(story: Story, root: Path) -> None:
    session = story.session(root, "A better name")
    session.ask("Rename upload.py to transfer.py")
    session.bash("git mv src/upload.py src/transfer.py")
    session.edit("tests/test_upload.py", "src.upload", "src.transfer")
    session.bash("git commit -am 'Rename upload to transfer'")
    story.wait(hours=2)
    session.ask("Tell what transfer does")
    session.edit("src/transfer.py", "def upload(video):\n", 'def upload(video):\n    """Send."""\n')


def _build_and_deploy(story: Story, root: Path) -> None:
    session = story.session(root, "Packing")
    session.ask("Pack it")
    session.bash("sh pack.sh")
    session.bash("mkdir build")
    session.bash("sh pack.sh")
    session.ask("Deploy it")
    session.bash("python deploy.py --to production")
    session.answer("There is no script to deploy with.")
    story.wait(hours=1)
    session.ask("Print the colours")
    session.bash("python -c 'import src.colours as c; print(c.GREEN)'")
    session.ask("Add green")
    session.edit("src/colours.py", "BLUE = 2\n", "BLUE = 2\nGREEN = 3\n")
    session.bash("python -c 'import src.colours as c; print(c.GREEN)'")


def _elsewhere(story: Story, other: Path) -> None:
    """Another project with a file of the same name."""
    write_tree(other, {"src/upload.py": "x = 1\n", "src/transfer.py": "x = 1\n"})
    session = story.session(other, "Another project")
    session.ask("Change x")
    session.edit("src/upload.py", "x = 1", "x = 2")
    session.edit("src/transfer.py", "x = 1", "x = 2")
    session.bash("python src/transfer.py")


def _try_in_a_worktree(story: Story, root: Path) -> None:
    """It stays, and nothing of it is committed."""
    tree = root / ".claude" / "worktrees" / "pink"
    story.git(root, "worktree", "add", "-q", "-b", "pink", str(tree))
    session = story.session(tree, "Pink")
    session.ask("Try pink instead of red")
    session.edit("src/colours.py", "RED", "PINK")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the story: told once, for all tests."""
    folder = tmp_path_factory.mktemp("story")
    story = Story(folder / "user", START)
    root = folder / "shop"
    root.mkdir()
    tell(story, root)
    story.git(root, "worktree", "remove", "--force", str(folder / "shop-resume"))
    with Memory(Places(folder / "home")) as person:
        person.admin.create()
        story.import_into(person.admin.store)
    (root / ".aurora").mkdir()
    with Memory(Places(folder / "home", root)) as memory:
        memory.index(root)
    return folder


@pytest.fixture
def memory(told: Path) -> Iterator[Memory]:
    with Memory(Places(told / "home", told / "shop"), folder=told / "shop") as memory:
        yield memory


def rows(memory: Memory, place: str) -> list[tuple[str, str, str]]:
    """Kind, title and reason of each entry. Commits are named by their messages."""
    why = memory.trail.why(place)
    subjects = {entry.id[:8]: entry.title for entry in why.entries if entry.kind == "commit"}
    told = []
    for entry in why.entries:
        reason = entry.reason
        for short, subject in subjects.items():
            reason = reason.replace(short, f"<{subject}>")
        told.append((entry.kind, entry.title, reason))
    return told


TELL = ("session", "Tell what transfer does", "edited this file, not committed yet")
BYTES = ("session", "send should count bytes, not letters",
         "edited this file as src/upload.py 20 minutes before commit <Count bytes>"
         " on branch resume")  # fmt: skip
NOTHING = ("session", "The upload of None fails, mend it",
           "edited this file as src/upload.py 8 minutes before commit "
           "<Upload nothing for no video> on branch main")  # fmt: skip
DECIDED = ("decision", "How should upload treat a missing video?",
           "decided in an exchange that read this file")  # fmt: skip


def test_a_file_has_its_commits_sessions_and_decisions_newest_first(memory: Memory) -> None:
    """Also from before it was renamed, and from a worktree that is gone; nothing of a file of the
    same name elsewhere."""
    assert rows(memory, "src/transfer.py") == [
        TELL,
        ("commit", "Count bytes", "last changed 1 of its 7 lines"),
        BYTES,
        ("commit", "Upload nothing for no video", "last changed 1 of its 7 lines"),
        NOTHING,
        DECIDED,
        ("commit", "Start the shop", "last changed 4 of its 7 lines"),
    ]


def test_a_line_has_only_what_led_to_it(memory: Memory) -> None:
    whole = "last changed all of these lines"
    assert rows(memory, "src/transfer.py:2") == [("commit", "Count bytes", whole), BYTES]
    assert rows(memory, "src/transfer.py:7") == [
        ("commit", "Upload nothing for no video", whole), NOTHING, DECIDED
    ]  # fmt: skip
    assert rows(memory, "src/transfer.py:1") == [("commit", "Start the shop", whole)]


def test_a_line_that_is_not_committed_has_the_session_that_wrote_it(memory: Memory) -> None:
    assert rows(memory, "src/transfer.py:6") == [TELL]


def test_a_session_in_another_worktree_counts(memory: Memory) -> None:
    entries = memory.trail.why("src/colours.py").entries
    assert [(entry.kind, entry.title, entry.branch) for entry in entries] == [
        ("decision", "Try pink instead of red", ""),
        ("session", "Try pink instead of red", "pink"),
        ("session", "Add green", "main"),
        ("commit", "Start the shop", ""),
    ]


def test_a_definition_is_asked_for_by_its_name(memory: Memory) -> None:
    why = memory.trail.why("src/transfer.py:send")
    assert (why.file, why.lines, why.name) == ("src/transfer.py", (1, 2), "send")
    assert rows(memory, "src/transfer.py:send") == rows(memory, "src/transfer.py:1-2")


def test_a_session_entry_says_who_where_and_what_to_open(memory: Memory) -> None:
    why = memory.trail.why("src/transfer.py:2")
    commit, session = why.entries
    assert (commit.who, commit.commit) == ("Ada", commit.id)
    assert (session.who, session.branch, session.session, session.commit) == (
        "claude-code", "resume", "session-2", commit.id
    )  # fmt: skip
    assert memory.get(session.id, is_use=False).name == session.title


def test_a_lesson_about_the_file_is_listed(memory: Memory) -> None:
    learned = memory.learn("Mix no colours at night", files=["src/colours.py"], agent="codex")
    first = memory.trail.why("src/colours.py").entries[0]
    memory.forget(learned.id)
    assert (first.kind, first.text, first.who, first.reason) == (
        "lesson", "Mix no colours at night", "codex", "is about src/colours.py"
    )  # fmt: skip


def test_a_file_that_no_session_touched_has_only_its_commit(memory: Memory) -> None:
    assert rows(memory, "pack.sh") == [
        ("commit", "Start the shop", "last changed all of its lines")
    ]


def test_a_file_that_is_gone_tells_its_last_commits(memory: Memory) -> None:
    why = memory.trail.why("src/upload.py")
    assert [note.text for note in why.notes] == [
        "src/upload.py is gone: these are the last commits of it"
    ]
    assert ("commit", "Rename upload to transfer", "changed the file") in rows(
        memory, "src/upload.py"
    )


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("src/nowhere.py", "no file src/nowhere.py"),
        ("src/transfer.py:99", "has only 7 lines"),
        ("src/transfer.py:5-2", "has no such lines"),
        ("src/transfer.py:nobody", "no chunk"),
        ("../other/src/upload.py", "no file below"),
    ],
)
def test_a_place_that_is_not_there_is_an_error_with_a_next_step(
    memory: Memory, place: str, words: str
) -> None:
    with pytest.raises((QueryError, ChunkNotFoundError), match=words) as caught:
        memory.trail.why(place)
    assert caught.value.hint


def test_without_git_the_sessions_of_a_file_are_told(told: Path) -> None:
    """The project of the same name that no repository holds."""
    with Memory(Places(told / "home"), folder=told / "other") as memory:
        why = memory.trail.why("src/upload.py")
    assert [entry.reason for entry in why.entries] == ["edited this file"]
    assert why.notes[0].text.startswith("git was not asked")


def test_without_sessions_git_is_told(told: Path, tmp_path: Path) -> None:
    with Memory(Places(tmp_path / "home"), folder=told / "shop") as memory:
        why = memory.trail.why("pack.sh")
        assert [entry.kind for entry in why.entries] == ["commit"]
        assert "no sessions" in why.notes[0].text
        assert "no sessions" in memory.trail.how("sh pack.sh").notes[0].text
        assert "no sessions" in memory.trail.fix("TypeError: no").notes[0].text


# How


def test_how_a_command_last_worked_and_what_it_needed(memory: Memory) -> None:
    how = memory.trail.how("sh  pack.sh")
    assert how.worked is not None
    assert how.mended is not None
    assert (how.worked.outcome, how.worked.title, how.failed) == ("packed", "Packing", None)
    assert (how.mended.change, how.mended.error) == (
        "$ mkdir build", "touch: cannot touch 'build/pack': No such file or directory"
    )  # fmt: skip


@pytest.mark.parametrize("asked", [CHECK, ".venv/bin/python -m unittest tests.test_upload"])
def test_a_program_may_be_started_otherwise_and_have_more_arguments(
    memory: Memory, asked: str
) -> None:
    how = memory.trail.how(asked)
    assert how.worked is not None
    assert how.worked.command == CHECK
    assert how.worked.outcome.endswith("OK")


def test_a_command_that_never_worked_shows_its_last_failure(memory: Memory) -> None:
    how = memory.trail.how("python deploy.py --to production")
    assert (how.worked, how.mended, how.failures) == (None, None, 1)
    assert how.failed is not None
    assert (how.failed.exit_status, how.failed.failed) == (2, True)
    assert "can't open file" in how.failed.outcome


def test_a_failure_is_mended_by_what_was_done_until_it_passed(memory: Memory) -> None:
    """In the next exchange: of this session, the question and the edits."""
    how = memory.trail.how("python -c 'import src.colours as c; print(c.GREEN)'")
    assert how.worked is not None
    assert how.mended is not None
    assert (how.worked.outcome, how.successes, how.failures) == ("3", 1, 1)
    assert how.mended.change == "asked: Add green\nedited src/colours.py"


def test_a_command_that_never_ran_has_nothing(memory: Memory) -> None:
    how = memory.trail.how("npm run lint")
    assert (how.worked, how.failed, how.mended, how.similar) == (None, None, None, ())


def test_another_use_of_a_program_is_only_similar(memory: Memory) -> None:
    how = memory.trail.how("git commit --fixup HEAD")
    assert (how.worked, how.failed) == (None, None)
    assert "git commit -am 'Rename upload to transfer'" in [run.command for run in how.similar]


def test_a_run_of_another_project_is_told_as_such(memory: Memory) -> None:
    how = memory.trail.how("python src/transfer.py")
    assert how.worked is not None
    assert how.worked.project.endswith("/other")
    assert "other projects" in how.notes[0].text


# Fix


def test_an_error_has_what_mended_it(memory: Memory) -> None:
    [mend] = memory.trail.fix("TypeError: 'NoneType' object is not iterable").mends
    assert mend.command == CHECK
    assert "+ for part in video or ()]" in mend.change
    assert mend.title == "Uploads without a video"


def test_numbers_paths_and_quotes_may_differ(memory: Memory) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/home/bob/x.py", line 3, in <module>\n'
        "    upload(None)\nTypeError: “NoneType” object is not iterable"
    )
    assert len(memory.trail.fix(text).mends) == 1
    packed = memory.trail.fix(
        "touch: cannot touch `/srv/shop/build/pack': No such file or directory"
    )
    assert [mend.change for mend in packed.mends] == ["$ mkdir build"]


def test_an_error_that_nothing_mended_is_told_as_such(memory: Memory) -> None:
    fixes = memory.trail.fix("can't open file '/x/deploy.py': [Errno 2] No such file or directory")
    assert fixes.mends == ()
    assert [run.command for run in fixes.unmended] == ["python deploy.py --to production"]


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: 'int' object is not iterable",
        "AttributeError: module 'src.colours' has no attribute 'PINK'",
        "KeyError: 'colour'",
        "error[E0382]: borrow of moved value: `video`",
        "psql: error: connection to server at 127.0.0.1, port 5432 failed: Connection refused",
    ],
)
def test_another_error_has_no_fix(memory: Memory, error: str) -> None:
    fixes = memory.trail.fix(error)
    assert (fixes.mends, fixes.unmended) == ((), ())


def test_an_error_that_says_nothing_is_refused(memory: Memory) -> None:
    with pytest.raises(QueryError, match="says too little"):
        memory.trail.fix("error 17")


# Beside code


def test_a_result_says_how_many_sessions_edited_its_file(memory: Memory) -> None:
    """Of this project alone; the one of the removed worktree is not counted."""
    found = {each.chunk.path: each.sessions for each in memory.search("upload send part").results}
    assert found["src/transfer.py"] == 1
    assert found["tests/test_upload.py"] == 1
    assert memory.search("colours RED BLUE").results[0].sessions == 2
    alone = memory.search("colours RED BLUE", memories=["project"])
    assert alone.results[0].sessions == 0
