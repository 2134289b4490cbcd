"""Documents and lessons that replace others, where they come from, and what a write answers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.config.worktrees import branch_of, commit_of
from aurora.errors import ChunkNotFoundError, QueryError, SourceError
from aurora.indexing.documents import Outcome
from aurora.indexing.provenance import provenance_of
from aurora.types import REPLACED_BY, SKETCHES, Kind, NewDocument
from tests.backends import BACKENDS, keep_on_server
from tests.builders import NOW, write_tree
from tests.sources.repository import git, make_repository

OLD = "# Session store\n\nSessions are kept in Redis."
NEW = "# Session store\n\nSessions are kept in signed cookies."
TEXTS = Path(__file__).parents[1] / "benchmarks" / "questions" / "memory" / "decisions.json"
QUESTION = "where are sessions kept"
LINES = [f"value_{number} = {number}" for number in range(40)]
LONG = "# Handbook\n\n" + "\n\n".join(f"## Rule {n}\n\n{'word ' * 300}" for n in range(4))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "web", {"src/app.py": "\n".join(LINES)})


@pytest.fixture(params=BACKENDS)
def memory(root: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """The memory of the repository, in a file and on a server. Each look at the time is later."""
    places = Places(tmp_path / "home", root)
    if request.param == "postgres":
        keep_on_server(root, places.home, request.getfixturevalue("memory_url"))
    clock = (NOW + timedelta(hours=hour) for hour in range(10_000))
    with Memory(places, SettingsFiles(places, {}), now=lambda: next(clock)) as memory:
        yield memory


@pytest.fixture
def file_memory(root: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        yield memory


def found(memory: Memory, question: str = QUESTION) -> set[str]:
    """The documents and lessons that a search finds."""
    results = memory.search(question).results
    return {result.chunk_id for result in results if result.chunk.kind.is_prose}


def versions(memory: Memory, id_: str) -> list[tuple[str, bool]]:
    return [(version.id, version.is_current) for version in memory.history(id_)]


# Replacing


def test_the_same_title_with_new_text_replaces_the_document(memory: Memory) -> None:
    old, new = memory.add(OLD), memory.add(NEW)
    assert (new.outcome, new.replaces) == (Outcome.REPLACED, (old.id,))
    assert found(memory) == {new.id}
    assert versions(memory, old.id) == versions(memory, new.id) == [(new.id, True), (old.id, False)]
    assert memory.get(old.id).content == OLD
    [result] = memory.search(QUESTION).results
    assert result.remarks == (f"replaces {old.id}",)
    assert memory.admin.check() == []


def test_only_a_heading_namespace_and_type_of_its_own_replace(file_memory: Memory) -> None:
    texts = [OLD, "Session store\n\nIn Redis.", "Session store\n\nIn cookies."]
    ids = {file_memory.add(text).id for text in texts}
    ids.add(file_memory.add(NEW, namespace="shop").id)
    ids.add(file_memory.add(NEW, document_type="decision").id)
    ids.add(file_memory.add_all([NewDocument(NEW, key="1")])[0].id)
    ids.add(file_memory.add(NEW, path=Path("session-store.md")).id)
    assert len(ids) == 7
    assert all(file_memory.admin.is_found(id_) for id_ in ids)


def test_a_lesson_and_a_document_replace_each_other_by_id(memory: Memory) -> None:
    lesson = memory.learn("keep sessions in Redis")
    document = memory.add(LONG, replaces=lesson.id)
    last = memory.learn("rules are in the wiki", replaces=f"{document.id}@3")
    assert (document.replaces, last.replaces) == ((lesson.id,), (document.id,))
    assert found(memory, "Redis sessions rule word") == {last.id}
    assert versions(memory, document.id) == [
        (last.id, True), (document.id, False), (lesson.id, False),
    ]  # fmt: skip
    pieces = memory.admin.pieces(memory.get(document.id))
    assert {piece.metadata[REPLACED_BY] for piece in pieces} == {last.id}
    assert memory.admin.check() == []


def test_the_old_text_again_is_current_again(memory: Memory) -> None:
    first, second = memory.add(OLD), memory.add(NEW)
    back = memory.add(OLD)
    assert (back.id, back.outcome, back.replaces) == (first.id, Outcome.REPLACED, (second.id,))
    assert found(memory) == {first.id}
    assert versions(memory, second.id) == [(first.id, True), (second.id, False)]
    assert memory.add(OLD).outcome is Outcome.UNCHANGED
    lesson = memory.learn("retry three times")
    newer = memory.learn("retry five times", replaces=lesson.id)
    memory.learn("retry three times", score=0.1)
    assert not memory.admin.is_found(lesson.id), "a try that failed does not bring it back"
    assert versions(memory, lesson.id) == [(newer.id, True), (lesson.id, False)]
    assert memory.learn("retry three times").replaces == (newer.id,)
    assert versions(memory, newer.id) == [(lesson.id, True), (newer.id, False)]


def test_a_version_in_the_middle_can_come_back(file_memory: Memory) -> None:
    texts = [f"# Plan\n\nDo {what}." for what in ("one", "two", "three")]
    one, two, three = [file_memory.add(text).id for text in texts]
    file_memory.add(texts[1])
    order = [two, three, one]
    assert [version.id for version in file_memory.history(one)] == order
    assert [id_ for id_ in order if file_memory.admin.is_found(id_)] == [two]


def test_what_cannot_be_replaced_says_what_can(file_memory: Memory, root: Path) -> None:
    file_memory.index(root)
    old, new = file_memory.add(OLD), file_memory.add(NEW)
    with pytest.raises(ChunkNotFoundError, match="no 'doc-nothing' to replace") as missing:
        file_memory.add("text", replaces="doc-nothing")
    assert "aur mem search" in missing.value.hint
    with pytest.raises(QueryError, match="was replaced by") as replaced:
        file_memory.learn("text", replaces=old.id)
    assert old.id in replaced.value.hint
    with pytest.raises(QueryError, match="cannot replace itself"):
        file_memory.add(NEW, replaces=new.id)
    [code] = file_memory.admin.store.chunks.find_below("src/app.py")
    with pytest.raises(QueryError, match="is of a file"):
        file_memory.learn("text", replaces=code)
    with pytest.raises(ChunkNotFoundError, match="no document or lesson"):
        file_memory.history(code)
    assert found(file_memory) == {new.id}, "nothing was written"
    assert file_memory.learn("text", replaces=new.id).replaces == (new.id,)
    assert file_memory.learn("text", replaces=new.id).replaces == (), "again, it is as it was"


def test_forgetting_one_version_leaves_the_others_linked(memory: Memory) -> None:
    texts = [f"# Plan\n\nDo {what}." for what in ("one", "two", "three", "four")]
    one, two, three, four = [memory.add(text).id for text in texts]
    memory.forget([two])
    assert versions(memory, one) == [(four, True), (three, False), (one, False)]
    memory.forget([four])
    assert versions(memory, one) == [(three, False), (one, False)]
    assert found(memory, "plan") == set(), "forgetting brings nothing back"
    assert memory.history(one)[0].replaced_by == ""
    assert memory.add(texts[2]).outcome is Outcome.ADDED
    assert versions(memory, one) == [(three, True), (one, False)]
    memory.forget([one, three])
    assert memory.stats().chunks == {}


def test_an_export_keeps_the_history(memory: Memory, tmp_path: Path) -> None:
    old, new = memory.add(OLD), memory.add(NEW)
    stream = io.BytesIO()
    memory.export(stream)
    with Memory(Places(tmp_path / "other")) as other:
        other.admin.import_(io.BytesIO(stream.getvalue()))
        assert found(other) == {new.id}
        assert versions(other, old.id) == versions(memory, old.id)
        assert other.history(old.id)[0].provenance == memory.history(old.id)[0].provenance


def test_a_lesson_of_the_team_replaces_another_in_its_file(memory: Memory, root: Path) -> None:
    old = memory.learn("Retry uploads three times", team=True).chunk
    new = memory.learn("Uploads resume by themselves", team=True, replaces=old.id)
    assert new.replaces == (old.id,)
    assert f'replaced_by: "{new.chunk.path}"' in (root / old.path).read_text()
    assert f'replaces: "{old.path}"' in (root / new.chunk.path).read_text()
    for _ in range(2):
        assert found(memory, "uploads") == {new.id}
        assert versions(memory, old.id) == [(new.id, True), (old.id, False)]
        memory.index(root, force=True)
    memory.learn("Retry uploads three times", team=True)
    assert old.id in found(memory, "uploads")
    own = memory.learn("Only mine")
    with pytest.raises(ChunkNotFoundError, match="of the team"):
        memory.learn("For all", team=True, replaces=own.id)


# Provenance


def test_an_entry_says_who_wrote_it_where_and_about_what(memory: Memory, root: Path) -> None:
    git(root, "config", "user.name", "Ada Lovelace")
    git(root, "checkout", "--quiet", "-b", "topic/x")
    lesson = memory.learn("set value_1 in src/app.py, not in src/gone.py").chunk
    mine = provenance_of(lesson)
    assert (mine.who, mine.branch, mine.files) == ("Ada Lovelace", "topic/x", ("src/app.py",))
    assert mine.commit == git(root, "rev-parse", "HEAD").strip()
    document = memory.add("text", agent="claude-code", model="opus", files=[root / "src/app.py"])
    theirs = provenance_of(memory.get(document.id))
    assert (theirs.who, theirs.person) == ("claude-code (opus)", "")
    assert theirs.files == ("src/app.py",)
    with pytest.raises(SourceError, match="not a file of web"):
        memory.learn("text", files=["src/gone.py"])
    with pytest.raises(SourceError, match="not a file of web"):
        memory.learn("text", files=[root.parent / "home"])


def test_the_commit_is_read_from_packed_branches_and_worktrees(root: Path, tmp_path: Path) -> None:
    head = git(root, "rev-parse", "HEAD").strip()
    assert commit_of(root) == head
    git(root, "pack-refs", "--all")
    assert not (root / ".git" / "refs" / "heads" / "main").exists()
    assert commit_of(root) == head
    git(root, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    git(tmp_path / "side", "commit", "--quiet", "--allow-empty", "--message", "more")
    other = git(tmp_path / "side", "rev-parse", "HEAD").strip()
    assert (commit_of(tmp_path / "side"), branch_of(tmp_path / "side")) == (other, "side")
    assert (commit_of(root), other != head) == (head, True)
    git(root, "checkout", "--quiet", "--detach")
    assert commit_of(root) == head
    assert commit_of(tmp_path) == ""


def test_no_path_of_the_machine_is_stored(memory: Memory, root: Path, tmp_path: Path) -> None:
    memory.add(OLD, files=[root / "src" / "app.py"])
    memory.learn(f"see src/app.py and {root}/src/app.py")
    texts = [str(record.chunk.metadata) for record in memory.admin.store.maintenance.iter_records()]
    assert len(texts) == 2
    assert not any(str(tmp_path) in text for text in texts)


def test_the_same_document_again_keeps_who_wrote_it(memory: Memory) -> None:
    first = memory.add(OLD, agent="claude")
    assert memory.add(OLD, agent="codex").outcome is Outcome.UNCHANGED
    assert memory.history(first.id)[0].provenance.who == "claude"


# Stale


@pytest.mark.parametrize(
    ("lines", "remarks"),
    [
        (LINES, ()),
        ([*LINES[:30], "more = 1"], ()),
        ([f"    {line}" for line in LINES], ()),
        (LINES[:5], ("stale: src/app.py changed since",)),
        (None, ("stale: src/app.py changed since",)),
    ],
    ids=["as-it-was", "a-quarter", "moved", "most", "gone"],
)
def test_an_entry_is_stale_when_half_of_its_file_is_gone(
    file_memory: Memory, root: Path, lines: list[str] | None, remarks: tuple[str, ...]
) -> None:
    file_memory.learn("change value_1 in src/app.py")
    if lines is None:
        (root / "src" / "app.py").unlink()
    else:
        (root / "src" / "app.py").write_text("\n".join(lines))
    [result] = file_memory.search("change value_1", criteria=None).results
    assert (result.chunk.kind, result.remarks) == (Kind.REASONING, remarks)


def test_a_file_of_secrets_is_named_and_not_sketched(file_memory: Memory, root: Path) -> None:
    write_tree(root, {"deploy/.env": "TOKEN=abcdefgh\n" * 3})
    chunk = file_memory.learn("deploy reads deploy/.env").chunk
    assert provenance_of(chunk).files == ("deploy/.env",)
    assert SKETCHES not in chunk.metadata


# Similar entries


def test_a_write_names_what_is_similar_and_what_it_may_contradict(memory: Memory) -> None:
    old = memory.learn("Retry uploads three times before giving up.")
    memory.learn("The printer on the second floor needs a driver.")
    new = memory.learn("Never retry uploads: a second attempt creates duplicates.")
    [entry] = new.similar
    assert (entry.id, entry.relation) == (old.id, "may contradict")
    assert entry.text.startswith("Retry uploads three times")
    again = memory.add("# Uploads\n\nUploads are retried, never more than three times.")
    assert {entry.id for entry in again.similar} == {old.id, new.id}
    assert memory.add("Phone numbers are stored in E.164.").similar == ()


def test_what_is_replaced_is_no_longer_named(memory: Memory) -> None:
    old = memory.learn("Retry uploads three times before giving up.")
    new = memory.learn("Never retry uploads: it creates duplicates.", replaces=old.id)
    assert new.similar == ()
    assert [entry.id for entry in memory.learn("Never retry an upload.").similar] == [new.id]


def test_most_contradictions_are_named_and_few_others(file_memory: Memory) -> None:
    """A part of benchmarks/quality/decisions.py."""
    texts = json.loads(TEXTS.read_text(encoding="utf-8"))
    file_memory.add_all(NewDocument(text) for text in texts["unrelated"][:60])
    pairs = texts["contradictions"][:5]
    olds = [added.id for added in file_memory.add_all(NewDocument(p["old"]) for p in pairs)]
    named = [
        any(entry.id == old and entry.may_contradict for entry in file_memory.add(p["new"]).similar)
        for p, old in zip(pairs, olds, strict=True)
    ]
    assert sum(named) >= 4
    false = [
        text
        for text in texts["unrelated_writes"][:10]
        if any(entry.may_contradict for entry in file_memory.add(text).similar)
    ]
    assert len(false) <= 1


def test_without_an_embedder_words_tell_what_is_similar(root: Path, tmp_path: Path) -> None:
    environ = {"AURORA_HOME": str(tmp_path / "home"), "AURORA_EMBEDDING_PROVIDER": "none"}
    with Memory.open(root, environ=environ) as memory:
        old = memory.learn("Retry uploads three times before giving up.")
        for text in ("Receipts are printed on wide paper.", "Tasks must be idempotent."):
            assert memory.learn(text).similar == ()
        [entry] = memory.learn("Never retry uploads.").similar
        assert (entry.id, entry.may_contradict) == (old.id, True)
