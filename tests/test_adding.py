"""Adding documents, through the Memory that does it (seed 004, `aurora_ingest`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.errors import LabelError, SourceError
from aurora.indexing.documents import Outcome
from aurora.types import Kind, Mode, NewDocument
from tests.builders import NOW, make_chunk, write_tree

LONG = "# Handbook\n\nRead me.\n\n" + "".join(
    f"## Rule {n}\n\n{'always test ' * 60}\n\n" for n in range(9)
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "project", {
        "docs/spec.md": "# Billing\n\nInvoices are numbered.\n", "docs/handbook.md": LONG,
        "app.py": "def bill(): pass\n",
    })  # fmt: skip


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory(Places(tmp_path / "home", project), now=lambda: NOW) as memory:
        yield memory


def add_file(memory: Memory, path: Path, **labels: str) -> str:
    return memory.add(path.read_text(encoding="utf-8"), path=path, **labels).id  # type: ignore[arg-type]


def found(memory: Memory, query: str, *, mode: Mode | None = None) -> list[str]:
    return [result.chunk_id for result in memory.search(query, mode=mode).results]


def all_ids(memory: Memory) -> set[str]:
    return {chunk.id for chunk in memory.admin.store.chunks.iter_chunks()}


def test_the_right_plan_is_first(memory: Memory) -> None:
    """Seed 004, 1.5, `test_hybrid_search_accuracy`; today by keyword alone."""
    first, second = (
        memory.add(text, document_type="decision", source="test", namespace="test").id
        for text in (
            "AuroraKB Phase 1 Database Migration execution plan",
            "AuroraKB Phase 2 Project Detection execution plan",
        )
    )
    assert found(memory, "Phase 2 project detection plan") == [second, first]
    assert found(memory, "Phase 1 database migration plan") == [first, second]


def test_an_exact_keyword_match_is_first(memory: Memory) -> None:
    """Seed 004, 1.5, `test_keyword_boost`; by words, what shares none is not found at all."""
    exact, other = (
        memory.add(text, document_type="document", source="test", namespace="test").id
        for text in (
            "Implementation handbook for project detection",
            "Guide for identifying project root directories",
        )
    )
    assert found(memory, "implementation handbook")[0] == exact
    assert found(memory, "implementation handbook", mode="keyword") == [exact]
    assert memory.search("implementation handbook").results[0].contributions[0].raw > 0
    assert found(memory, "guide")[0] == other
    assert found(memory, "guide", mode="keyword") == [other]


def test_a_document_can_be_found_opened_and_counted(memory: Memory, project: Path) -> None:
    id_ = add_file(memory, project / "docs" / "handbook.md", namespace="team")

    assert found(memory, "rule 7")[0] == f"{id_}@9"
    assert memory.get(f"{id_}@9").name == "Rule 7"
    assert memory.get(id_).name == "Handbook"
    assert memory.stats().chunks == {Kind.KNOWLEDGE: 10}
    assert memory.stats().namespaces == {"team": 10}
    assert memory.stats().files == 0


def test_a_file_is_called_as_the_index_calls_it(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From wherever and through whatever link it is named."""
    (project / "link.md").symlink_to("docs/spec.md")
    monkeypatch.chdir(project / "docs")
    paths = [
        Path("spec.md"),
        Path("../docs/./spec.md"),
        project / "docs/spec.md",
        Path("../link.md"),
    ]
    assert len({add_file(memory, path) for path in paths}) == 1
    (chunk,) = memory.admin.store.chunks.iter_chunks()
    assert (chunk.path, chunk.metadata["origin"]) == ("", "docs/spec.md")


def test_a_project_can_move(memory: Memory, project: Path, tmp_path: Path) -> None:
    id_ = add_file(memory, project / "docs" / "spec.md")
    memory.close()
    moved = Path(shutil.move(project, tmp_path / "moved"))
    with Memory(Places(tmp_path / "home", moved)) as other:
        again = other.add("# Billing\n\nNew.\n", path=moved / "docs" / "spec.md")
        assert (again.id, again.outcome) == (id_, Outcome.REPLACED)


def test_in_the_users_own_memory_a_file_has_its_whole_path(project: Path, tmp_path: Path) -> None:
    with Memory(Places(tmp_path / "home")) as memory:
        id_ = add_file(memory, project / "docs" / "spec.md")
        assert memory.get(id_).metadata["origin"] == (project / "docs/spec.md").as_posix()


def test_a_note_and_a_document_of_one_file_do_not_touch_each_other(
    memory: Memory, project: Path
) -> None:
    spec = project / "docs" / "spec.md"
    id_ = add_file(memory, spec)
    document, note = memory.get(id_), "docs/spec.md:Billing"

    memory.index(project)
    memory.index(project)
    first = memory.search("invoices").results[0]
    assert (first.chunk_id in {id_, note}, first.more) == (True, 1)  # the same text in one row
    assert {id_, note} <= all_ids(memory)

    spec.write_text("# Billing\n\nInvoices are dated.\n", encoding="utf-8")
    memory.index(project)
    assert memory.get(id_) == document
    assert memory.get(note).content.endswith("dated.")

    add_file(memory, spec)
    memory.forget(memory.admin.find_to_forget(str(spec)))
    assert found(memory, "invoices", mode="keyword") == [id_]

    memory.index(project)
    spec.unlink()
    memory.index(project)
    assert found(memory, "invoices", mode="keyword") == [id_]
    assert memory.get(id_).content.endswith("dated.")


def test_forgetting_a_document_takes_all_its_pieces(memory: Memory, project: Path) -> None:
    memory.index(project)
    before = all_ids(memory)
    id_ = add_file(memory, project / "docs" / "handbook.md")

    assert memory.admin.find_to_forget(f"{id_}@3") == [f"{id_}@3"]
    assert memory.forget(memory.admin.find_to_forget(f"{id_}@3")) == 1
    assert memory.forget(memory.admin.find_to_forget(id_)) == 9

    assert all_ids(memory) == before
    assert memory.admin.find_to_forget(id_) == []


def test_forgetting_a_namespace_takes_its_documents(memory: Memory, project: Path) -> None:
    kept = memory.add("keep me").id
    add_file(memory, project / "docs" / "handbook.md", namespace="a:b")
    memory.add("me too", namespace="a:b")

    assert memory.forget(memory.admin.find_to_forget("namespace:a:b")) == 11

    assert all_ids(memory) == {kept}


@pytest.mark.parametrize("what", ["/", "", "///"])
def test_what_has_no_file_is_below_no_folder(memory: Memory, what: str) -> None:
    memory.add("keep me")
    memory.learn("keep me, too")
    memory.admin.store.chunks.put_chunks([make_chunk(path="/elsewhere/a.py", name="f")])
    assert set(memory.admin.find_to_forget(what)) <= {"/elsewhere/a.py:f"}


def test_what_cannot_be_added_makes_no_memory(memory: Memory, project: Path) -> None:
    with pytest.raises(SourceError, match="The text is empty"):
        memory.add(" \n")
    with pytest.raises(LabelError, match="cannot be called 'source'"):
        memory.add("text", metadata={"source": "mine"})
    assert not (project / ".aurora").exists()


def test_many_documents_are_added_at_once(memory: Memory) -> None:
    """More than one transaction holds; each is as if it had been added alone."""
    new = [NewDocument(f"Invoice {n} is paid", namespace="paid") for n in range(603)]

    added = memory.add_all(new)

    assert [one.outcome for one in added] == [Outcome.ADDED] * 603
    assert len(all_ids(memory)) == 603
    assert memory.add("Invoice 7 is paid", namespace="paid").outcome is Outcome.UNCHANGED
    assert found(memory, "invoice 602")[0] == added[602].id
    assert memory.stats().embedded == 603


def test_a_document_that_cannot_be_kept_takes_those_of_its_batch_with_it(memory: Memory) -> None:
    with pytest.raises(SourceError, match="is empty"):
        memory.add_all([NewDocument("good"), NewDocument(" ")])
    memory.add("another")
    assert len(all_ids(memory)) == 1


def test_a_title_that_is_given_is_the_name(memory: Memory) -> None:
    given, taken = memory.add_all([
        NewDocument("# Heading\n\nText.", title=" On \n wings "), NewDocument("# Heading\n\nText."),
    ])  # fmt: skip
    assert (given.title, taken.title) == ("On wings", "Heading")
    assert memory.get(given.id).name == "On wings"


def test_a_key_keeps_two_of_the_same_text_apart(memory: Memory) -> None:
    one, other = memory.add_all([NewDocument("Same.", key="1"), NewDocument("Same.", key="2")])
    assert one.id != other.id
    again = memory.add_all([NewDocument("Changed.", key="1")])[0]
    assert (again.id, again.outcome) == (one.id, Outcome.REPLACED)
    assert memory.get(one.id).content == "Changed."


def test_a_date_that_is_given_dates_the_document(memory: Memory) -> None:
    then = datetime(2020, 2, 3, tzinfo=UTC)
    old, new = memory.add_all([NewDocument("Old.", created_at=then), NewDocument("New.")])
    assert memory.get(old.id).created_at == then
    assert memory.get(new.id).created_at == NOW
