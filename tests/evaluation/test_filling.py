"""Documents go into a memory, and what is found there is a document again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora import Memory
from aurora.errors import SourceError
from aurora.evaluation.datasets import Item
from aurora.evaluation.runner import fill
from aurora.types import Chunk, Kind
from tests.evaluation.small_sets import throw_away


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with throw_away(tmp_path, embedding_provider="none").memory() as memory:
        yield memory


def by_item(memory: Memory, items: list[Item]) -> dict[str, list[Chunk]]:
    filled = fill(memory, items)
    found: dict[str, list[Chunk]] = {}
    for chunk in memory.admin.chunks():
        found.setdefault(filled.item_of(chunk), []).append(chunk)
    return found


def test_a_text_is_a_document_with_all_that_is_said_of_it(memory: Memory) -> None:
    about = {"session": "s1", "speaker": "Ada", "seq": 4, "date": "2023-05-08T13:56:00"}
    items = [
        Item("conv/1", "Ada: hello\nthere", about=about, language="en"),
        Item("2", "A study of wings.", title="On  wings"),
    ]

    found = by_item(memory, items)

    (turn,), (study,) = found["conv/1"], found["2"]
    assert turn.metadata.items() >= {"item": "conv/1", **about}.items()
    assert turn.created_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert (turn.kind, turn.path, turn.name) == (Kind.KNOWLEDGE, "", "Ada: hello")
    assert (study.name, study.content) == ("On wings", "A study of wings.")


def test_the_same_text_twice_is_two_documents(memory: Memory) -> None:
    found = by_item(memory, [Item("a", "All the same."), Item("b", "All the same.")])
    assert {item: len(chunks) for item, chunks in found.items()} == {"a": 1, "b": 1}


def test_a_long_document_is_found_by_any_of_its_pieces(memory: Memory) -> None:
    long = "\n\n".join(f"# Part {n}\n\n{'water ' * 400}" for n in range(5))
    filled = fill(memory, [Item("long", long)])
    chunks = list(memory.admin.chunks())
    assert len(chunks) > 1
    assert filled.are_cut
    assert {filled.item_of(chunk) for chunk in chunks} == {"long"}


def test_a_file_is_cut_by_its_parser_and_found_by_its_path(memory: Memory) -> None:
    text = "class Heron:\n    def wait(self):\n        return 1\n\n\ndef fly():\n    return 2\n"
    found = by_item(memory, [Item("repo:src/a.py", text, path="src/./a.py")])
    names = {(chunk.kind, chunk.qualified_name, chunk.path) for chunk in found["repo:src/a.py"]}
    assert names == {
        (Kind.CLASS, "Heron", "src/a.py"),
        (Kind.METHOD, "Heron.wait", "src/a.py"),
        (Kind.FUNCTION, "fly", "src/a.py"),
    }


@pytest.mark.parametrize(
    ("language", "path"),
    [("python", "000001.py"), ("c++", "000001.h"), ("typescript", "000001.ts")],
)
def test_code_without_a_path_is_a_file_whose_name_says_nothing(
    memory: Memory, language: str, path: str
) -> None:
    found = by_item(memory, [Item("words", "x"), Item("code", "x = 1\n", language=language)])
    assert [chunk.path for chunk in found["code"]] == [path]
    assert [chunk.path for chunk in found["words"]] == [""]


def test_what_an_index_would_pass_over_is_found_all_the_same(memory: Memory) -> None:
    code = "def heron():\n    return 1\n"
    paths = ["a.py", "build/b.py", "node_modules/c.py", ".hidden/d.py", ".e.py", "ignored/f.py"]
    items = [Item(path, code, path=path) for path in paths]
    items.append(Item("rules", "ignored/\n", path=".gitignore"))

    found = by_item(memory, items)

    assert set(found) == {*paths, "rules"}


def test_what_cannot_be_found_is_counted(memory: Memory) -> None:
    items = [
        Item("key", "secret", path="id_rsa"),
        Item("made", "# @generated\nx = 1\n", path="made.py"),
        Item("void", "", path="void.py"),
        Item("good", "x = 1\n", path="good.py"),
        Item("blank", " \n"),
        Item("titled", " ", title="Only a title"),
    ]

    filled = fill(memory, items)

    assert filled.problems.empty == ("blank",)
    assert set(filled.problems.unread) == {"id_rsa", "made.py", "void.py"}
    assert [line.partition(":")[0] for line in filled.problems.messages()] == [
        "1 document without text",
        "3 files not indexed (empty, generated, minified, very large, or named like a secret)",
    ]
    assert {filled.item_of(chunk) for chunk in memory.admin.chunks()} == {"good", "titled"}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.py", "a/../../x.py", ".", "a\0b"])
def test_no_document_leaves_the_folder(memory: Memory, path: str) -> None:
    with pytest.raises(SourceError, match=r"document 'bad' has the path .* leads out"):
        fill(memory, [Item("bad", "x", path=path)])


@pytest.mark.parametrize("path", [".git/config", "a/.GIT/hooks/x", ".aurora/config.yml"])
def test_no_document_says_what_git_or_aurora_should_do(memory: Memory, path: str) -> None:
    with pytest.raises(SourceError, match="which no document may have"):
        fill(memory, [Item("bad", "x", path=path)])


def test_two_documents_of_one_path_are_refused(memory: Memory) -> None:
    with pytest.raises(SourceError, match=r"'a' and 'b' have the same path x\.py"):
        fill(memory, [Item("a", "x", path="x.py"), Item("b", "y", path="./x.py")])


def test_a_path_that_cannot_be_written_is_refused(memory: Memory) -> None:
    items = [Item("a", "x", path="x.py"), Item("b", "y", path="x.py/y.py")]
    with pytest.raises(SourceError, match=r"document 'b' cannot be written to x\.py/y\.py"):
        fill(memory, items)
