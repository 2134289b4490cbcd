"""Conversation logs reach every memory, however large they are, and leave it with their file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.parsers.conversation import KnowledgeParser
from aurora.sources.reading import MAX_BYTES
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, Document, Kind
from tests.builders import NOW, write_tree
from tests.indexing.providers import VowelProvider
from tests.sources.repository import as_ordinary_user

SMALL = "# Conversation: OAuth\nDate: 2025-12-15\nQuery: how\n\n## Phase 1: Assessment\nShort.\n"
MB = 1_000_000

INDEX_LOGS = """
import sys
from pathlib import Path
from aurora.indexing.indexer import index_files
from aurora.indexing.reader import scan
from aurora.stores.sqlite.store import SQLiteStore

database, logs = map(Path, sys.argv[1:])
report = index_files(SQLiteStore(database), None, scan(database.parent, logs=logs))
facts = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(report.parsed, int(facts["VmHWM"].split()[0]) * 1024)
"""


def phase(number: int, lines: int, word: str = "plain") -> str:
    """A phase of lines of a hundred characters, none like another."""
    head = f"## Phase {number}: Part {number}\n"
    return head + "".join(f"{number:04} {at:07} {word} {'=' * 80}\n" for at in range(lines))


def large(word: str = "plain") -> str:
    """A log over the size that other files may have."""
    return SMALL + "".join(phase(number, 6000, word) for number in range(2, 6))


def whole(path: Path, text: str) -> list[Chunk]:
    """The chunks that a log gives when it is read at once."""
    return list(KnowledgeParser().parse(Document(path.as_posix(), text)).chunks)


def logged(memory: Memory) -> list[Chunk]:
    """What the person's memory has of logs: never the project's."""
    own = memory.personal or memory
    if own is not memory and memory.exists:
        paths = [chunk.path for chunk in memory.admin.store.chunks.iter_chunks()]
        assert not any(path.startswith(str(own.places.home)) for path in paths)
    if not own.exists:
        return []
    with closing(SQLiteStore(own.admin.path)) as store:
        return [chunk for chunk in store.chunks.iter_chunks() if chunk.kind is Kind.KNOWLEDGE]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "logs" / "conversations" / "2025" / "12"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def memory(tmp_path: Path, root: Path) -> Iterator[Memory]:
    write_tree(root, {"a.py": "def f(): pass\n"})
    places = Places(tmp_path / "home", root)
    with Memory(places, embedder=VowelProvider(), now=lambda: NOW) as memory:
        yield memory


def test_a_large_log_gives_the_chunks_of_its_text(memory: Memory, root: Path, logs: Path) -> None:
    text = "\ufeff" + large("走る") + "\r\n\0 odd \u2028 ends\r"
    write_tree(logs, {"long-2025-12-15.md": text, "short-2025-12-15.md": SMALL})
    assert (logs / "long-2025-12-15.md").stat().st_size > MAX_BYTES

    report = memory.index(root)

    assert (report.parsed, report.logs, report.warnings) == (3, 2, ())
    assert logged(memory) == [
        *whole(logs / "long-2025-12-15.md", text), *whole(logs / "short-2025-12-15.md", SMALL),
    ]  # fmt: skip
    assert memory.search("走る 0005 0005999").results[0].chunk.name == "Part 5"
    assert memory.index(root).unchanged == 3


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells its peak memory")
@pytest.mark.parametrize("megabytes", [60, 120])
def test_a_log_is_never_held_in_memory(tmp_path: Path, logs: Path, megabytes: int) -> None:
    """Seed 000, Q3. Building the keyword index of so much text afterwards is another matter."""
    phases = megabytes // 2
    log = logs / "huge-2025-12-15.md"
    with log.open("w", encoding="utf-8") as file:
        file.write(SMALL)
        for number in range(2, 2 + phases):
            file.write(phase(number, 4000, "=" * 420))
        file.write(f"## Phase {2 + phases}: The End\nlast words")
    assert log.stat().st_size > megabytes * MB
    arguments = [str(tmp_path / "memory" / "m.db"), str(logs.parent.parent)]

    command = [sys.executable, "-c", INDEX_LOGS, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    parsed, peak = map(int, done.stdout.split())
    assert parsed == 1
    assert peak < 100 * MB  # with Python, the parsers and SQLite's own pages
    with closing(SQLiteStore(Path(arguments[0]))) as store:
        chunks = list(store.chunks.iter_chunks())
        assert store.maintenance.check() == []
    assert (chunks[0].id, chunks[-1].content) == (
        "conv-huge-2025-12-15-phase1", f"## Phase {2 + phases}: The End\nlast words",
    )  # fmt: skip
    lines = [chunk.lines or (0, 0) for chunk in chunks]
    assert [start for start, _ in lines] == [1, *(end + 1 for _, end in lines[:-1])]
    assert lines[-1][1] == 6 + phases * 4001 + 2


@pytest.mark.parametrize("text", [SMALL, large()], ids=["small", "large"])
def test_a_log_as_remembered_is_not_opened(
    memory: Memory, root: Path, logs: Path, text: str
) -> None:
    """Other content would be noticed by a run that reads it.

    Only a memory without identities takes a file of the same size and time for the same.
    """
    log = logs / "a-2025-12-15.md"
    log.write_text(text, encoding="utf-8")
    memory.index(root)
    own = memory.personal
    assert own is not None
    before, generation = logged(memory), own.stats().generation
    status = log.stat()
    log.write_bytes(b"\xff" * status.st_size)
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
    states = own.admin.store.chunks.file_states().values()
    own.admin.store.chunks.put_file_states(replace(state, identity="") for state in states)

    report = memory.index(root)

    assert (report.parsed, report.unchanged, report.skipped) == (0, 2, {})
    assert (logged(memory), own.stats().generation) == (before, generation)


@pytest.mark.parametrize("text", [SMALL, large()], ids=["small", "large"])
def test_a_touched_log_is_read_and_not_parsed(
    memory: Memory, root: Path, logs: Path, text: str
) -> None:
    log = logs / "a-2025-12-15.md"
    log.write_text(text, encoding="utf-8")
    memory.index(root)
    generation = memory.stats().generation
    os.utime(log, ns=(1, 1))

    assert (memory.index(root).unchanged, memory.stats().generation) == (2, generation)


@pytest.mark.parametrize("end", [b"\xff", "é".encode()[:1], "走".encode()[:2]], ids=ascii)
@pytest.mark.parametrize("text", [SMALL, large()], ids=["small", "large"])
def test_a_log_that_is_not_utf8_in_its_last_byte_is_left_out_until_it_is(
    memory: Memory, root: Path, logs: Path, text: str, end: bytes
) -> None:
    """A program that writes a log was stopped in the middle of a letter."""
    log = logs / "a-2025-12-15.md"
    log.write_bytes(text.encode() + end)
    write_tree(logs, {"b-2025-12-15.md": SMALL})

    for _ in range(2):
        report = memory.index(root)
        assert (report.skipped, report.is_partial) == ({"not UTF-8": 1}, False)
        assert {chunk.path for chunk in logged(memory)} == {str(logs / "b-2025-12-15.md")}

    log.write_text(text, encoding="utf-8")
    assert memory.index(root).parsed == 1
    assert {chunk.path for chunk in logged(memory)} == {str(file) for file in logs.iterdir()}


def test_a_log_that_is_gone_leaves_and_the_others_stay(
    memory: Memory, root: Path, logs: Path
) -> None:
    write_tree(logs, {"a-2025-12-15.md": large(), "b-2025-12-15.md": SMALL, "c.md": SMALL})
    write_tree(logs.parent, {"11/d.md": SMALL})
    memory.index(root)
    (logs / "a-2025-12-15.md").unlink()
    (logs / "c.md").unlink()

    assert memory.index(root).removed == 2
    paths = {chunk.path for chunk in logged(memory)}
    assert paths == {str(logs / "b-2025-12-15.md"), str(logs.parent / "11" / "d.md")}
    shutil.rmtree(logs.parent.parent)
    report = memory.index(root)
    assert (report.removed, logged(memory)) == (2, [])
    assert any(text.startswith("No conversation logs found in ") for text in report.warnings)


def test_an_edited_log_changes_only_where_it_was_edited(
    tmp_path: Path, root: Path, logs: Path
) -> None:
    write_tree(root, {"a.py": "def f(): pass\n"})
    write_tree(logs, {"a-2025-12-15.md": large(), "b-2025-12-15.md": SMALL})
    provider = VowelProvider()
    with Memory(Places(tmp_path / "home", root), embedder=provider) as memory:
        memory.index(root)
        before = {chunk.id: chunk for chunk in logged(memory)}
        provider.asked.clear()
        text = large().replace("0005 0003000 plain", "0005 0003000 other") + "One more line.\n"
        write_tree(logs, {"a-2025-12-15.md": text})

        report = memory.index(root)

    after = {chunk.id: chunk for chunk in logged(memory)}
    assert (report.parsed, report.unchanged) == (1, 2)
    assert list(after.values()) == [
        *whole(logs / "a-2025-12-15.md", text), *whole(logs / "b-2025-12-15.md", SMALL),
    ]  # fmt: skip
    changed = [id_ for id_ in before if before[id_].content != after[id_].content]
    assert len(changed) == 2
    asked = [text for texts in provider.asked for text in texts]
    assert len(asked) == 3  # two pieces, and once the words of their file's name


def test_a_log_may_grow_large_and_become_small_again(
    memory: Memory, root: Path, logs: Path
) -> None:
    log = logs / "a-2025-12-15.md"
    for text in (SMALL, large(), large("more"), SMALL, SMALL + "\n## Phase 2: Next\nText.\n"):
        log.write_text(text, encoding="utf-8")
        assert memory.index(root).parsed > 0
        assert sorted(logged(memory), key=lambda c: c.lines or (0, 0)) == whole(log, text)


def test_two_projects_both_know_the_logs(tmp_path: Path, logs: Path) -> None:
    write_tree(logs, {"a-2025-12-15.md": large(), "b-2025-12-15.md": SMALL})
    for name in ("one", "two"):
        root = write_tree(tmp_path / name, {"a.py": f"def only_in_{name}(): pass\n"})
        with Memory(Places(tmp_path / "home", root), embedder=VowelProvider()) as memory:
            assert memory.index(root).logs == 2
    found = []
    for name in ("one", "two"):
        places = Places(tmp_path / "home", tmp_path / name)
        with Memory(places, embedder=VowelProvider()) as memory:
            found.append(logged(memory))
            assert memory.search("assessment").results[0].chunk.path.startswith(str(logs))
    assert found[0] == found[1] != []


def test_a_log_and_a_file_of_the_project_with_one_name_are_both_whole(
    memory: Memory, root: Path, logs: Path
) -> None:
    """Both may be called `conv-session-phase1`, and both have a second piece of that phase."""
    text = SMALL + phase(2, 500)
    write_tree(root, {"session.md": text.replace("Short", "Of the project")})
    write_tree(logs, {"session.md": text})

    memory.index(root)

    chunks = [*logged(memory), *memory.admin.chunks()]
    for path, short in ((str(logs / "session.md"), "Short"), ("session.md", "Of the project")):
        mine = [chunk.content for chunk in chunks if chunk.path == path]
        assert mine == [c.content for c in whole(Path(path), text.replace("Short", short))]
    assert memory.index(root).unchanged == 3


def test_what_a_log_speaks_of_does_not_leave_it_out(memory: Memory, root: Path, logs: Path) -> None:
    """Others' files with these names and words are no use; the user's own logs are."""
    talk = SMALL.replace("Short.", "Why is this file marked @generated? Autogenerated. DO NOT EDIT")
    write_tree(logs, {"id_rsa-2025-12-15.md": talk})

    report = memory.index(root)

    assert (report.logs, report.skipped) == (1, {})
    assert [chunk.content for chunk in logged(memory)] == [talk.removesuffix("\n")]


def test_a_log_whose_name_is_no_text_is_left_out(memory: Memory, root: Path, logs: Path) -> None:
    write_tree(logs, {"a.md": SMALL})
    (logs / os.fsdecode(b"caf\xe9.md")).write_text(SMALL)

    report = memory.index(root)

    assert report.skipped == {"file name is not UTF-8": 1}
    assert [chunk.path for chunk in logged(memory)] == [str(logs / "a.md")]


@pytest.mark.parametrize(("shut", "mode"), [("a.md", 0), (".", 0o444), ("..", 0)])
def test_logs_that_cannot_be_read_stay_in_the_memory(shut: str, mode: int) -> None:
    """They may be back tomorrow; the run says so and goes on."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        # Modules are loaded with the first index and search: not every user may read Python's.
        warm = write_tree(Path(name, "warm"), {"x.py": "def f(): pass\n"})
        with Memory(Places(warm / "home", warm), embedder=VowelProvider()) as memory:
            memory.index(warm)
            memory.search("f")
        with as_ordinary_user():
            root = write_tree(Path(name, "project"), {"x.py": "def f(): pass\n"})
            logs = Path(name, "home", "logs", "conversations", "2025", "12")
            write_tree(logs, {"a.md": SMALL, "b.md": large()})
            places = Places(Path(name, "home"), root)
            with Memory(places, embedder=VowelProvider()) as memory:
                memory.index(root)
                before = logged(memory)
                os.utime(logs / "a.md", ns=(1, 1))
                place = (logs / shut).resolve()
                place.chmod(mode)
                write_tree(root, {"y.py": "def g(): pass\n"})
                report = memory.index(root)
                place.chmod(0o700)

                readable = shut == "a.md" and mode == 0o444
                assert (report.is_partial, report.removed) == (not readable, 0)
                assert all("unreadable: Permission denied" in text for text in report.warnings)
                assert logged(memory) == before
                assert memory.search("g").results[0].chunk_id == "y.py:g"
                assert memory.index(root).is_partial is False
                assert logged(memory) == before
