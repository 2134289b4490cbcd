"""`aur mem export` and `aur mem import`, as a person and a script use them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.stores.base import Embedder, Record
from tests.backends import in_a_file, keep_on_server, without_memory
from tests.builders import make_chunk, write_tree
from tests.cli.conftest import AUR, PROJECT, Shell
from tests.cli.forking import relaying
from tests.cli.screen import Terminal
from tests.cli.test_bad_input import error_and_hint
from tests.indexing.exports import everything, exported, lines_of


@pytest.fixture
def other(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """A clone of the project on another machine: no memory, and a home of its own."""
    root = write_tree(tmp_path / "other" / "project", PROJECT)
    subprocess.run(["git", "init", "-q", root], check=True)
    shell = Shell(root, tmp_path / "other" / "home")
    if backend == "sqlite":
        yield shell
        return
    with request.getfixturevalue("postgres_databases").fresh() as url:
        keep_on_server(root, shell.home, url)
        yield shell


def held(shell: Shell) -> tuple[object, ...]:
    with shell.store() as store:
        return everything(store)


def remember_more(shell: Shell) -> None:
    """What no index brings back."""
    shell.ok("mem", "learn", "retry the upload", "--score", "0.9")
    shell.ok("mem", "learn", "guess the upload", "--score", "0.2")
    shell.ok("mem", "add", "notes.md", "--namespace", "team", "--meta", "status=agreed")
    shell.ok("mem", "get", "auth_manager.py:authenticate_user")


def copy_times(one: Path, two: Path) -> None:
    for name in PROJECT:
        times = (one / name).stat()
        os.utime(two / name, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_memory_goes_through_a_pipe_into_another_project(indexed: Shell, other: Shell) -> None:
    remember_more(indexed)
    copy_times(indexed.cwd, other.cwd)
    before = [indexed.ok("mem", "search", words) for words in ("login", "认证", "upload", "USERS")]
    with subprocess.Popen(
        [AUR, "mem", "export"], cwd=indexed.cwd, env=indexed.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as sender:  # fmt: skip
        assert sender.stdout is not None
        assert sender.stderr is not None
        done = other.run("mem", "import", "-", stdin=sender.stdout.fileno())
        assert sender.stderr.read() == b"Exported 10 chunks, 4 files\n"

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Imported 10 chunks (10 new), 4 files\n"
    assert held(other) == held(indexed)
    after = [other.ok("mem", "search", words) for words in ("login", "认证", "upload", "USERS")]
    assert after == before
    assert (other.cwd / ".aurora" / ".gitignore").read_text() == "*\n"
    with other.store() as store:
        generation = store.generation()
        other.ok("mem", "index")
        assert store.generation() == generation


def test_a_file_is_written_whole_and_for_its_owner_alone(indexed: Shell, other: Shell) -> None:
    done = indexed.run("mem", "export", "backup.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Exported 7 chunks, 4 files\n"
    backup = indexed.cwd / "backup.jsonl"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [file.name for file in indexed.cwd.glob("backup*")] == ["backup.jsonl"]
    lines = [json.loads(line) for line in backup.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["aurora"] == "export"
    assert [line["type"] for line in lines[1:]] == ["file"] * 4 + ["chunk"] * 7 + ["end"]
    assert indexed.ok("mem", "export") == indexed.ok("mem", "export", "-") == backup.read_text()

    other.ok("mem", "import", str(backup))
    assert held(other) == held(indexed)
    assert other.run("mem", "import", str(backup)).stderr == "Imported 7 chunks (0 new), 4 files\n"
    with backup.open("rb") as stream:
        assert other.run("mem", "import", "-", stdin=stream).returncode == 0
    assert held(other) == held(indexed)


def test_a_file_that_is_there_is_replaced_only_when_told(indexed: Shell) -> None:
    backup = indexed.cwd / "backup.jsonl"
    backup.write_text("mine")
    link = indexed.cwd / "link.jsonl"
    link.symlink_to("backup.jsonl")
    for name in ("backup.jsonl", "link.jsonl"):
        error, hint = error_and_hint(indexed.fails("mem", "export", name))
        assert error == f"Error: {name} already exists"
        assert "--force" in hint
    assert backup.read_text() == "mine"
    indexed.ok("mem", "export", "link.jsonl", "--force")
    assert link.is_symlink()
    assert backup.read_text() == indexed.ok("mem", "export")


@without_memory
@pytest.mark.parametrize(
    ("file", "told"),
    [
        (".", "Error: . is not a regular file"),
        ("/dev/null", "Error: /dev/null is not a regular file"),
        ("nowhere/backup.jsonl", "Error: nowhere/backup.jsonl cannot be written: No such file"),
        ("notes.md/x", "Error: notes.md/x cannot be written: Not a directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_said(indexed: Shell, file: str, told: str) -> None:
    before = sorted(indexed.cwd.iterdir())
    error, _ = error_and_hint(indexed.fails("mem", "export", file, "--force"))
    assert error.startswith(told)
    assert sorted(indexed.cwd.iterdir()) == before


@in_a_file
def test_without_a_memory_there_is_nothing_to_export(shell: Shell) -> None:
    assert "aur mem index" in shell.fails("mem", "export", "backup.jsonl")
    assert not (shell.cwd / "backup.jsonl").exists()
    assert not (shell.cwd / ".aurora").exists()


def test_a_reader_that_has_seen_enough_is_no_failure(indexed: Shell) -> None:
    with indexed.store() as store:
        store.chunks.put_chunks([make_chunk("x" * 5000, name=f"f{n}") for n in range(500)])
    with subprocess.Popen(
        [AUR, "mem", "export"], cwd=indexed.cwd, env=indexed.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"aurora": "export"')
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@without_memory
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_full_disk_is_said(indexed: Shell) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [AUR, "mem", "export"], cwd=indexed.cwd, env=indexed.environment,
            stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False,
        )  # fmt: skip
    assert done.returncode == 2
    error, _ = error_and_hint(done.stderr)
    assert error == "Error: Standard output cannot be written: No space left on device"


@without_memory
def test_a_terminal_gets_the_lines_and_nothing_in_between(indexed: Shell) -> None:
    with indexed.store() as store:
        store.chunks.put_chunks([make_chunk("x" * 300, name=f"f{n}") for n in range(3000)])
    argv = [relaying() / "aur", "mem", "export"]
    terminal = Terminal(argv, cwd=indexed.cwd, env=indexed.environment)
    assert terminal.wait() == 0
    written = terminal.written.split("\r\n")[:-1]
    assert [json.loads(line)["type"] for line in written[1:-1]].count("chunk") == 3007
    assert written[-1] == "Exported 3007 chunks, 4 files"


# Importing what is not right


@without_memory
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "Error: There is no file backup.jsonl"),
        ("Dear diary,\n", "Error: This is not an export: the line must be JSON in UTF-8"),
        ("", "Error: This is not an export"),
        ('{"aurora": "export", "version": 7}\n', "version must be 1, the only one"),
    ],
    ids=["missing", "diary", "empty", "newer"],
)
def test_what_is_no_export_is_refused_and_starts_no_memory(
    shell: Shell, content: str | None, told: str
) -> None:
    if content is not None:
        (shell.cwd / "backup.jsonl").write_text(content)
    error, hint = error_and_hint(shell.fails("mem", "import", "backup.jsonl"))
    assert told in error
    assert "aur mem export" in hint
    assert not (shell.cwd / ".aurora").exists()


@without_memory
def test_a_folder_is_no_export(shell: Shell) -> None:
    error, hint = error_and_hint(shell.fails("mem", "import", "."))
    assert error == "Error: . cannot be read: Is a directory"
    assert hint == "hint: name a file"


def test_an_export_that_was_cut_off_changes_nothing(indexed: Shell, other: Shell) -> None:
    other.ok("mem", "index")
    before = held(other)
    whole = indexed.ok("mem", "export").encode()
    (other.cwd / "half.jsonl").write_bytes(whole[: len(whole) // 2])
    error, hint = error_and_hint(other.fails("mem", "import", "half.jsonl"))
    assert error.endswith("it was cut off")
    assert "nothing was imported" in hint
    assert held(other) == before


@in_a_file
def test_an_export_that_was_cut_off_starts_no_memory(indexed: Shell, other: Shell) -> None:
    """An empty one would stand before the user's own."""
    whole = indexed.ok("mem", "export").splitlines(keepends=True)
    (other.cwd / "cut.jsonl").write_text("".join(whole[:-1]), encoding="utf-8")
    assert "cut off" in other.fails("mem", "import", "cut.jsonl")
    assert not (other.cwd / ".aurora").exists()


def test_a_line_that_is_wrong_is_named(indexed: Shell, other: Shell) -> None:
    other.ok("mem", "index")
    before = held(other)
    spoilt = indexed.ok("mem", "export").replace('"kind": "class"', '"kind": "\\u001b[31mpoem"')
    (other.cwd / "spoilt.jsonl").write_text(spoilt)
    error, _ = error_and_hint(other.fails("mem", "import", "spoilt.jsonl"))
    assert error.startswith("Error: Line ")
    assert "kind must be one of function, method" in error
    assert "poem" in error
    assert "\x1b" not in error
    assert held(other) == before


@in_a_file
def test_vectors_of_another_embedder_are_left_out_when_told(
    indexed: Shell, other: Shell, tmp_path: Path
) -> None:
    for shell, dimension in ((indexed, 1), (other, 2)):
        shutil.rmtree(shell.cwd / ".aurora", ignore_errors=True)
        shell.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
        shell.ok("mem", "index")
        with shell.store() as store:
            vectors = [(chunk.id, b"\0\0" * dimension) for chunk in store.chunks.iter_chunks()]
            store.vectors.put_embeddings(Embedder("model", dimension, "1"), vectors)
    indexed.ok("mem", "export", str(tmp_path / "backup.jsonl"))
    before = held(other)
    error, hint = error_and_hint(other.fails("mem", "import", str(tmp_path / "backup.jsonl")))
    assert "vectors of model (2 dimensions), not of model (1)" in error
    assert "--no-vectors" in hint
    assert held(other) == before
    other.ok("mem", "import", "--no-vectors", str(tmp_path / "backup.jsonl"))
    assert held(other)[2] == Embedder("model", 2, "1")


def test_an_import_killed_at_any_moment_leaves_the_memory_whole(
    indexed: Shell, tmp_path: Path, backend: str
) -> None:
    """All or nothing: what is there afterwards is what was there, or all of it."""
    before = held(indexed)
    export = tmp_path / "backup.jsonl"
    many = 1000 if backend == "postgres" else 4000  # about as long
    chunks = [make_chunk("word " * 60, "big.py", f"f{n}") for n in range(many)]
    export.write_bytes(lines_of(map(Record, chunks), embedder=None))
    begin = time.monotonic()
    indexed.ok("mem", "import", str(export))
    length = time.monotonic() - begin
    after = held(indexed)

    killed = 0
    for number in range(8):
        with indexed.store() as store:
            store.chunks.forget_files(["big.py"])
        assert held(indexed) == before
        with indexed.start("mem", "import", str(export)) as process:
            try:
                process.wait(timeout=length * (number + 0.5) / 8)
            except subprocess.TimeoutExpired:
                process.kill()
            assert process.wait() in (0, -signal.SIGKILL)
        left = held(indexed)
        assert left in ((before, after) if process.returncode else (after,))
        killed += left == before
        indexed.ok("mem", "search", "password")

    assert killed > 2
    indexed.ok("mem", "import", str(export))
    assert held(indexed) == after


def test_an_interrupted_import_says_that_nothing_came(indexed: Shell, tmp_path: Path) -> None:
    before = held(indexed)
    os.mkfifo(tmp_path / "slow")
    with indexed.start("mem", "import", str(tmp_path / "slow")) as process:
        with (tmp_path / "slow").open("wb") as stream:
            stream.write(lines_of([Record(make_chunk("new", "n.py"))], embedder=None)[:-10])
            stream.flush()
            # A pipe that is slow keeps nobody waiting: others go on writing to the memory.
            indexed.ok("mem", "learn", "write meanwhile")
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == "Interrupted. Nothing was imported."
    records = held(indexed)[0]
    assert isinstance(records, list)
    assert len(records) == len(before[0]) + 1  # type: ignore[arg-type]


def test_an_export_of_an_export_is_the_same(indexed: Shell, other: Shell, tmp_path: Path) -> None:
    remember_more(indexed)
    indexed.ok("mem", "export", str(tmp_path / "one.jsonl"))
    other.ok("mem", "import", str(tmp_path / "one.jsonl"))
    other.ok("mem", "export", str(tmp_path / "two.jsonl"))
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    with other.store() as store:
        assert exported(store) == (tmp_path / "one.jsonl").read_bytes()
