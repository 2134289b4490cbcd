"""`read_chunk_text`: the file's own lines, never more than was indexed, never outside the root."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aurora import Memory, Places, Settings
from aurora.config.schema import EmbeddingSettings, IndexingSettings
from aurora.engine.own_lines import ChunkText, read_chunk_text
from aurora.stores.base import FileState
from aurora.types import Lines
from tests.builders import make_chunk, write_tree

KEY = "AKIA" + "Q7W3ERTY5UIOP2ZX"
CODE = f'class Bank:\n    def pay(self):\n        return 1\n\n\nKEY = "{KEY}"\n'
PAY = "    def pay(self):\n        return 1"
OFF = EmbeddingSettings(provider="none")


def make_memory(folder: Path, *, redact: bool = True) -> Memory:
    settings = Settings(embedding=OFF, indexing=IndexingSettings(auto=False, redact_secrets=redact))
    return Memory(Places(folder / "home", folder / "project"), settings)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    write_tree(tmp_path / "project", {"src/bank.py": CODE, "long.txt": "words and more " * 2000})
    with make_memory(tmp_path) as memory:
        memory.index(tmp_path / "project")
        yield memory


def read(memory: Memory, chunk_id: str) -> ChunkText:
    return read_chunk_text(memory, memory.get(chunk_id))


def test_a_method_keeps_its_indentation_and_a_class_its_bodies(memory: Memory) -> None:
    assert read(memory, "src/bank.py:Bank.pay") == ChunkText(PAY)
    assert memory.get("src/bank.py:Bank").is_outline
    assert read(memory, "src/bank.py:Bank") == ChunkText(f"class Bank:\n{PAY}")


def test_a_file_with_another_time_and_the_same_content_is_unchanged(memory: Memory) -> None:
    os.utime(memory.places.memory_folder.parent / "src" / "bank.py", (1, 1))
    assert read(memory, "src/bank.py:Bank.pay").text == PAY


def test_secrets_stay_redacted(memory: Memory, tmp_path: Path) -> None:
    text = read(memory, "src/bank.py:6").text
    assert "KEY = " in text
    assert KEY not in text
    with make_memory(tmp_path, redact=False) as later:  # the memory was filled before
        assert KEY not in read(later, "src/bank.py:6").text


def test_what_was_stored_with_its_secrets_is_shown_as_the_settings_say(tmp_path: Path) -> None:
    write_tree(tmp_path / "project", {"src/bank.py": CODE})
    with make_memory(tmp_path, redact=False) as memory:
        memory.index(tmp_path / "project")
        assert KEY in read(memory, "src/bank.py:6").text
    with make_memory(tmp_path) as memory:
        assert KEY not in read(memory, "src/bank.py:6").text


def test_a_changed_file_is_not_shown(memory: Memory) -> None:
    file = memory.places.memory_folder.parent / "src" / "bank.py"
    file.write_text(CODE.replace("return 1", "return 2"))
    text, note, _ = read(memory, "src/bank.py:Bank.pay")
    assert text == "def pay(self):\n    return 1"
    assert note == "src/bank.py has changed since it was indexed: this is the stored text"
    assert "stored outline" in read(memory, "src/bank.py:Bank").note


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_is_not_followed(memory: Memory, tmp_path: Path, what: str) -> None:
    """Even one to a file with the same content."""
    source = tmp_path / "project" / "src"
    shutil.copytree(source, tmp_path / "outside")
    if what == "folder":
        shutil.rmtree(source)
        source.symlink_to(tmp_path / "outside")
    else:
        (source / "bank.py").unlink()
        (source / "bank.py").symlink_to(tmp_path / "outside" / "bank.py")
    assert read(memory, "src/bank.py:Bank.pay").note.startswith("src/bank.py cannot be read")


@pytest.mark.parametrize("is_absolute", [False, True])
def test_a_path_out_of_the_root_is_not_read(
    memory: Memory, tmp_path: Path, is_absolute: bool
) -> None:
    """A memory that came with a clone may name any file, with a matching state."""
    (tmp_path / "outside.py").write_text(CODE)
    name = str(tmp_path / "outside.py") if is_absolute else "../outside.py"
    store = memory.admin.store
    known = store.chunks.file_states(["src/bank.py"])["src/bank.py"]
    chunk = make_chunk("stored", name, "pay", lines=Lines(2, 3))
    store.chunks.replace_file(replace(known, path=name), [chunk])
    text, note, _ = read_chunk_text(memory, chunk)
    assert (text, "cannot be read" in note) == ("stored", True)


def test_a_chunk_without_file_or_state_is_its_stored_text(memory: Memory) -> None:
    assert read_chunk_text(memory, make_chunk("a note", "", lines=None)) == ChunkText("a note")
    assert read_chunk_text(memory, make_chunk("x", "imported.py")) == ChunkText("x")
    left_out = FileState("empty.py", 0, 0, "")
    memory.admin.store.chunks.add_files([left_out])
    write_tree(memory.places.memory_folder.parent, {"empty.py": ""})
    assert read_chunk_text(memory, make_chunk("x", "empty.py")).text == "x"


def test_of_a_very_long_line_only_the_piece_is_shown(memory: Memory) -> None:
    chunk = memory.get("long.txt:1")
    assert read_chunk_text(memory, chunk) == ChunkText(chunk.content)


LONG = "def work():\n" + "".join(f"    step_{n}(one, two, three)\n" for n in range(500))
METHODS = "".join(f"    def m{n}(self):\n        return work({n})\n" for n in range(400))
LARGE = f"class Large:\n{METHODS}"


def test_the_id_of_a_definition_in_pieces_gives_all_of_it(memory: Memory) -> None:
    """That of a later piece gives the piece."""
    root = memory.places.memory_folder.parent
    write_tree(root, {"long.py": f"{LONG}\n\n{LARGE}\n\n{LONG}"})
    memory.index(root)
    at = {"work": 1, "Large": 504, "work#2": 1307}
    for name, text in {"work": LONG, "Large": LARGE, "work#2": LONG}.items():
        lines = Lines(at[name], at[name] + text.count("\n") - 1)
        assert read(memory, f"long.py:{name}") == ChunkText(text.rstrip("\n"), whole=lines), name
    piece = memory.get("long.py:work@2")
    assert piece.lines is not None
    own = "\n".join(LONG.split("\n")[piece.lines.start - 1 : piece.lines.end])
    assert read_chunk_text(memory, piece) == ChunkText(own)
