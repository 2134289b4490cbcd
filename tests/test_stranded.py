"""Documents that earlier versions left in the person's memory move to their project."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.engine import stranded
from aurora.engine.health import examine_memory
from aurora.engine.stranded import find_stranded, move_stranded
from aurora.indexing.documents import piece_ids
from aurora.report_types import Level
from aurora.types import Chunk
from tests.builders import NOW, write_tree
from tests.sources.repository import make_repository

LONG = "# Plan\n\n" + "\n\n".join(f"## Part {n}\n\nquokka {n} " + "word " * 300 for n in range(6))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {"app.py": "a = 1\n", "docs/plan.md": LONG, "b.md": "Emus\n"}
    return make_repository(tmp_path / "web", files)


@pytest.fixture
def memory(root: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        yield memory


def person(memory: Memory) -> Memory:
    assert memory.personal is not None
    return memory.personal


def strand(memory: Memory, path: Path) -> str:
    """Add a document as earlier versions did outside of an indexed project; its id."""
    return person(memory).add(path.read_text(), path=path, metadata={"status": "agreed"}).id


def pieces(memory: Memory, document: str) -> list[Chunk]:
    chunks = memory.admin.store.chunks
    return chunks.get_chunks(piece_ids(chunks.get_chunks([document])))


def test_a_document_moves_with_its_uses_metadata_and_vectors(memory: Memory, root: Path) -> None:
    old = strand(memory, root / "docs" / "plan.md")
    before = pieces(person(memory), old)
    assert len(before) > 1
    uses = (NOW - timedelta(days=2), NOW - timedelta(days=1))
    for at in uses:
        person(memory).admin.store.chunks.record_access(before[1].id, at)
    vectors = person(memory).admin.store.vectors.get_embeddings([chunk.id for chunk in before])
    (found,) = move_stranded(memory)
    assert (found.title, found.path) == ("Plan", root / "docs" / "plan.md")

    new = memory.add(LONG, path=root / "docs" / "plan.md", metadata={"status": "agreed"})
    assert new.outcome == "unchanged", "the same file has the same id in the project"
    after = pieces(memory, new.id)
    expected = [
        replace(chunk, id=new_id, metadata={**chunk.metadata, "origin": "docs/plan.md"})
        for chunk, new_id in zip(before, piece_ids(after[:1]), strict=True)
    ]
    assert after == expected
    store = memory.admin.store
    assert store.chunks.get_accesses([chunk.id for chunk in after]) == {after[1].id: uses}
    moved = store.vectors.get_embeddings([chunk.id for chunk in after])
    assert list(moved.values()) == list(vectors.values())
    assert pieces(person(memory), old) == []
    assert find_stranded(memory) == []
    assert memory.search("quokka 3").results[0].memory == memory.label


def test_what_cannot_be_assigned_stays(memory: Memory, root: Path, tmp_path: Path) -> None:
    elsewhere = write_tree(tmp_path / "webby", {"c.md": "Wombats\n"}) / "c.md"
    ids = [
        person(memory).learn("quokkas").id,
        person(memory).add("a text without a path").id,
        person(memory).add("a source", source=str(root / "b.md")).id,
        strand(memory, elsewhere),
        memory.add("Emus\n", path=root / "b.md", private=True).id,
    ]
    assert find_stranded(memory) == move_stranded(memory) == []
    assert len(person(memory).admin.store.chunks.get_chunks(ids)) == len(ids)


def test_a_kill_between_the_two_memories_leaves_both_and_the_next_run_completes_it(
    memory: Memory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = strand(memory, root / "docs" / "plan.md")
    person(memory).admin.store.chunks.record_access(old, NOW)

    def killed(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Memory, "forget", killed)
        with pytest.raises(KeyboardInterrupt):
            move_stranded(memory)
    assert pieces(person(memory), old)
    (copied,) = [chunk for chunk in memory.admin.chunks() if chunk.metadata.get("part") == 1]
    (found,) = move_stranded(memory)
    assert found.chunk_ids[0] == old
    assert memory.admin.store.chunks.get_accesses([copied.id]) == {copied.id: (NOW,)}
    assert pieces(person(memory), old) == []


def test_the_projects_own_version_is_kept(memory: Memory, root: Path) -> None:
    old = strand(memory, root / "b.md")
    person(memory).admin.store.chunks.record_access(old, NOW)
    newer = memory.add("Emus and rheas\n", path=root / "b.md")
    move_stranded(memory)
    (chunk,) = pieces(memory, newer.id)
    assert chunk.content == "Emus and rheas"
    assert memory.admin.store.chunks.get_accesses([newer.id]) == {newer.id: (NOW,)}
    assert pieces(person(memory), old) == []


def test_a_failed_write_removes_nothing(
    memory: Memory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = strand(memory, root / "docs" / "plan.md")
    records = stranded._records

    def half(*given: object) -> Iterator[object]:
        yield next(iter(records(*given)))  # type: ignore[arg-type]
        raise OSError("full")

    monkeypatch.setattr(stranded, "_records", half)
    with pytest.raises(OSError, match="full"):
        move_stranded(memory)
    assert pieces(person(memory), old)
    assert sum(memory.admin.store.chunks.count_chunks().values()) == 0


def test_the_doctor_counts_them_and_shows_every_memory(memory: Memory, root: Path) -> None:
    memory.index(root)
    strand(memory, root / "b.md")
    strand(memory, root / "docs" / "plan.md")
    findings = list(examine_memory(memory, quick=True))
    (told,) = [one for one in findings if one.level is Level.WARN]
    assert told.text == "Your own memory holds 2 documents of this project: Plan, b.md"
    assert "aur doctor --fix" in told.hint
    places = [one.text for one in findings if one.text.startswith("Searched")]
    assert [place.split()[1] for place in places] == ["web", "personal"]
