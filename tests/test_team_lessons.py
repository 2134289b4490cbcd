"""Lessons of a team: files in the repository that every index run reads back as lessons."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Memory, Places
from aurora.config import Settings, SettingsFiles
from aurora.config.schema import IndexingSettings
from aurora.config.worktrees import commit_of
from aurora.errors import AuroraError, LabelError, QueryError, SourceError
from aurora.indexing.team_lessons import render_lesson
from aurora.parsers.lessons import LONGEST_CONTEXT, TeamLesson, read_lesson
from aurora.stores.base import Reasoning
from aurora.text import printable
from aurora.types import Kind, Note
from tests.backends import BACKENDS, keep_on_server
from tests.builders import NOW, write_tree
from tests.security.secret_samples import samples
from tests.sources.repository import git, make_repository

TEXT = "Retry quokka uploads with backoff"
NAME = f"docs/lessons/{NOW.date()}-retry-quokka-uploads-with-backoff.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "web", {"app.py": "def first(): pass\n"})


@pytest.fixture(params=BACKENDS)
def memory(root: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """The memory of the repository, in a file and on a server."""
    places = Places(tmp_path / "home", root)
    if request.param == "postgres":
        keep_on_server(root, places.home, request.getfixturevalue("memory_url"))
    with Memory(places, SettingsFiles(places, {}), now=lambda: NOW) as memory:
        yield memory


def lessons(memory: Memory, query: str = "quokka") -> list[str]:
    results = memory.search(query).results
    return [result.chunk.name for result in results if result.chunk.kind is Kind.REASONING]


def reasoning(memory: Memory, name: str = NAME) -> Reasoning | None:
    return memory.admin.store.chunks.get_reasoning(f"{name}:lesson")


def test_a_lesson_of_the_team_is_a_readable_file_and_found_at_once(
    memory: Memory, root: Path
) -> None:
    chunk = memory.learn(
        TEXT, team=True, pattern_type="recovery", score=0.75, context="S3: only\nlarge ones",
        agent="claude", model="opus-5",
    ).chunk  # fmt: skip
    assert (root / NAME).read_text() == (
        "---\ntype: recovery\nscore: 0.75\ntries: 1\n"
        'context: "S3: only large ones"\nagent: claude\nmodel: opus-5\nbranch: main\n'
        f'commit: "{commit_of(root)}"\ndate: {NOW.date()}\n---\n\n{TEXT}\n'
    )
    assert (chunk.id, chunk.kind, chunk.name) == (f"{NAME}:lesson", Kind.REASONING, TEXT)
    assert lessons(memory) == lessons(memory, "large ones") == [TEXT]
    memory.index(root)
    assert memory.get(chunk.id) == chunk
    found = reasoning(memory)
    assert found is not None
    assert (found.pattern_type, found.success_score, found.usage_count) == ("recovery", 0.75, 1)


def test_a_colleague_finds_it_after_a_clone_and_an_index(
    memory: Memory, root: Path, tmp_path: Path
) -> None:
    memory.learn(TEXT, team=True)
    git(root, "add", "docs")
    git(root, "commit", "-q", "-m", "a lesson")
    git(tmp_path, "clone", "-q", "web", "copy")
    with Memory(Places(tmp_path / "other", tmp_path / "copy")) as other:
        other.index(tmp_path / "copy")
        assert lessons(other) == [TEXT]


def test_the_same_text_updates_its_file_and_keeps_what_people_wrote(
    memory: Memory, root: Path
) -> None:
    memory.learn(TEXT, team=True, score=1.0, agent="claude")
    file = root / NAME
    file.write_text(file.read_text().replace("tries: 1", "author: Ada\ntries: 1"))
    memory.learn(TEXT, team=True, score=0.5, context="not for small files")
    assert sorted(file.parent.iterdir()) == [file]
    assert file.read_text() == (
        "---\ntype: pattern\nauthor: Ada\nagent: claude\nbranch: main\n"
        f'commit: "{commit_of(root)}"\ndate: {NOW.date()}\nscore: 0.75\ntries: 2\n'
        f"context: not for small files\n---\n\n{TEXT}\n"
    )
    memory.learn(TEXT, team=True, pattern_type="decision")
    assert len(list(file.parent.iterdir())) == 2, "another type is another lesson"


def test_no_other_file_is_overwritten(memory: Memory, root: Path) -> None:
    write_tree(root, {NAME: "our own notes\n"})
    chunk = memory.learn(TEXT, team=True).chunk
    assert chunk.path == NAME.replace(".md", "-2.md")
    assert (root / NAME).read_text() == "our own notes\n"


def test_an_edited_lesson_changes_and_a_removed_one_goes(memory: Memory, root: Path) -> None:
    memory.learn(TEXT, team=True)
    file = root / NAME
    file.write_text(file.read_text().replace("score: 1", "score: 0.2"))
    memory.index(root)
    remarks = {result.chunk.kind: result.remarks for result in memory.search("quokka").results}
    assert remarks[Kind.REASONING] == ("did not work",)
    file.write_text(file.read_text().replace("score: 0.2", "score: 0.9").replace("quokka", "emu"))
    memory.index(root)
    assert lessons(memory) == ["Retry emu uploads with backoff"]
    moved = file.with_name("emu.md")
    file.rename(moved)
    memory.index(root)
    assert (len(lessons(memory, "emu uploads")), reasoning(memory)) == (1, None)
    moved.unlink()
    memory.index(root)
    assert lessons(memory, "emu uploads") == []


def test_a_failed_lesson_that_becomes_a_note_can_be_found(memory: Memory, root: Path) -> None:
    memory.learn(TEXT, team=True, score=0.1)
    (root / NAME).write_text(f"# lesson\n\n{TEXT}\n")
    memory.index(root)
    kinds = [result.chunk.kind for result in memory.search("quokka").results]
    assert kinds[0] == Kind.KNOWLEDGE


def test_secrets_are_redacted_before_the_file_is_written(memory: Memory, root: Path) -> None:
    for sample in islice(samples(), 5):
        memory.learn(f"quokka {sample.line}", team=True, context=sample.line)
        for file in (root / "docs" / "lessons").iterdir():
            assert sample.secret not in file.read_text()


def test_secrets_are_redacted_also_where_the_memory_keeps_them(root: Path, tmp_path: Path) -> None:
    sample = next(iter(samples()))
    settings = Settings(indexing=IndexingSettings(redact_secrets=False))
    with Memory(Places(tmp_path / "home", root), settings) as memory:
        chunk = memory.learn(f"quokka {sample.line}", team=True).chunk
        assert sample.secret not in chunk.content
        assert chunk.path
        assert sample.secret not in (root / chunk.path).read_text()


def test_the_same_text_with_other_line_ends_is_the_same_lesson(memory: Memory, root: Path) -> None:
    memory.learn("quokka\nsecond", team=True)
    chunk = memory.learn("quokka\r\nsecond ", team=True).chunk
    assert chunk.metadata["tries"] == 2
    (file,) = (root / "docs" / "lessons").iterdir()
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))  # as git may check it out
    assert memory.learn("quokka\nsecond", team=True).chunk.metadata["tries"] == 3


LINE = st.text(st.characters(codec="utf-8"), max_size=60).map(
    lambda text: printable(" ".join(text.split()))
)


@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), min_size=1),
    pattern_type=LINE.filter(bool),
    context=LINE | st.sampled_from(['"' * LONGEST_CONTEXT, "'a'", "a: b", "# no", "null", "\\"]),
    score=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_a_lesson_is_read_as_it_was_written(
    text: str, pattern_type: str, context: str, score: float
) -> None:
    lesson = TeamLesson(text.strip() or "a", pattern_type, score, 1, context)
    kept = read_lesson(render_lesson(lesson, NOW))
    assert kept == lesson._replace(date=NOW.replace(hour=0))


HOSTILE = {
    "huge score": "type: a\nscore: 1e999",
    "no number": "type: a\nscore: nan",
    "negative": "type: a\nscore: -1",
    "long number": f"type: a\nscore: {'9' * 5000}",
    "list": "type: [a, b]\nscore: [1]",
    "surrogate": 'type: "\\ud800"\nscore: 1',
    "null byte": 'type: "\\u0000"\nscore: 1',
    "tries": "type: a\nscore: 1\ntries: 1e300",
    "long context": f"type: a\nscore: 1\ncontext: {'x' * 100_000}",
    "nested": f"type: {'{a: ' * 3000}\nscore: {'[' * 5000}",
    "control": "type: a\x1b[31m\nscore: 1",
    "no text": "type: a\nscore: 1\n---\n",
}


def test_a_hostile_file_is_a_note_with_a_warning_and_breaks_no_run(
    memory: Memory, root: Path
) -> None:
    """Also the names of other files, a score in words, and files without front matter."""
    names = {name: f"docs/lessons/{name}.md" for name in HOSTILE}
    written = {names[name]: f"---\n{matter}\n---\nquokka\n" for name, matter in HOSTILE.items()}
    written[names["no text"]] = f"---\n{HOSTILE['no text']}"
    fine = {"docs/lessons/plain.md": "quokka\n", "docs/lessons/empty.md": "---\n"}
    good = {"sub/docs/lessons/deep/good.md": "---\ntype: ''\nscore: 1.0\n---\n# Emu\nquokka\n"}
    write_tree(root, written | fine | good)
    report = memory.index(root)
    assert (report.failed, report.errors) == (0, ())
    warned = [text for text in report.warnings if "read as a note" in text]
    assert sorted(text.partition(":")[0] for text in warned) == sorted(written)
    assert all(text.isprintable() and len(text) < 200 for text in warned)
    assert lessons(memory) == ["Emu"]
    memory.learn("quokka", team=True)  # none of them is taken for the same lesson
    assert all((root / name).read_text() == text for name, text in written.items())


def test_a_link_out_of_the_repository_is_not_followed(
    memory: Memory, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (root / "docs").mkdir()
    (root / "docs" / "lessons").symlink_to(tmp_path / "outside")
    with pytest.raises(SourceError, match="leads to another folder"):
        memory.learn(TEXT, team=True)
    assert list((tmp_path / "outside").iterdir()) == []


def test_what_cannot_be_kept_is_an_error(memory: Memory, root: Path) -> None:
    refusals: list[tuple[type[AuroraError], str, dict[str, str]]] = [
        (QueryError, "nothing to learn", {"text": " \n"}),
        (LabelError, "cannot be the type", {"text": TEXT, "pattern_type": "a\nscore: 0"}),
        (SourceError, "at most 20,000", {"text": "x" * 20_001}),
        (SourceError, "at most 2,000", {"text": TEXT, "context": "x" * 2001}),
        (SourceError, "not UTF-8", {"text": "a\0b"}),
    ]
    for error, words, wrong in refusals:
        with pytest.raises(error, match=words):
            memory.learn(team=True, **wrong)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="private or for the team"):
        memory.learn(TEXT, team=True, private=True)
    assert not (root / "docs").exists()


def test_without_git_or_where_git_ignores_the_folder_the_error_names_the_next_step(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    environ = {"AURORA_HOME": str(tmp_path / "home")}
    with (
        Memory.open(tmp_path / "plain", environ=environ) as memory,
        pytest.raises(SourceError, match="git repository") as outside,
    ):
        memory.learn(TEXT, team=True)
    assert "git init" in str(outside.value.hint)
    write_tree(root, {".gitignore": "docs\n"})
    with (
        Memory.open(root, environ=environ) as memory,
        pytest.raises(SourceError, match="git ignores docs/lessons") as ignored,
    ):
        memory.learn(TEXT, team=True)
    assert "!/docs/lessons/" in str(ignored.value.hint)


def test_a_note_says_that_the_file_must_be_committed(root: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    with Memory(
        Places(tmp_path / "home", root),
        now=lambda: NOW,
        listen=lambda event: heard.append(event.text) if isinstance(event, Note) else None,
    ) as memory:
        memory.learn(TEXT, team=True)
    assert heard == [f"Wrote {NAME}: commit it, and the team finds it after `aur index`"]
