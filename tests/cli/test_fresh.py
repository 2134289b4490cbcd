"""Answers are as fresh as the files: what changed, moved or went since the last index run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config import SettingsFiles
from aurora.engine.refreshing import READER
from aurora.sources.looks import FILE
from tests.backends import in_a_file
from tests.builders import write_tree
from tests.cli.conftest import Shell, settle
from tests.faults.disks import small_disk
from tests.sources.repository import make_repository

QUOKKA = "def parse_quokka(text):\n    return text.split()\n"
WOMBAT = "def count_wombats(field):\n    return len(field)\n"
OFF = {"AURORA_INDEX_AUTO": "false"}
WITHOUT_VECTORS = {"AURORA_EMBEDDING_PROVIDER": "none"}
STEPS = "\n".join(f"def step_{n}(one, two):\n    return one + two\n" for n in range(400))
MUCH: dict[str, str | bytes] = {f"part{n}.py": f"# {n}\n{STEPS}" for n in range(48)}  # some seconds


@pytest.fixture
def shell(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """An indexed repository of two files and a folder."""
    files = {"src/quokka.py": QUOKKA, "wombat.py": WOMBAT, ".gitignore": "ignored/\n"}
    shell = Shell(make_repository(tmp_path / "web", files), tmp_path / "user" / "home")
    settle(shell, backend, request).ok("mem", "index")
    return shell


def found(shell: Shell, words: str, *, cwd: Path | None = None) -> dict[str, list[int]]:
    """Ids and lines of the results."""
    answer = json.loads(shell.ok("mem", "search", words, "--json", cwd=cwd))
    return {result["id"]: result["lines"] for result in answer["results"]}


def changed(shell: Shell) -> int | None:
    count = json.loads(shell.ok("mem", "stats", "--json"))["files_changed"]
    assert isinstance(count, int | None)
    return count


def test_a_moved_and_a_removed_file(shell: Shell) -> None:
    assert changed(shell) == 0
    (shell.cwd / "wombat.py").rename(shell.cwd / "marsupial.py")
    (shell.cwd / "src" / "quokka.py").unlink()
    assert changed(shell) == 3
    assert "3 files changed" in shell.ok("mem", "stats")
    assert "quokka.py" not in shell.ok("mem", "search", "parse_quokka")
    assert "marsupial.py:count_wombats" in found(shell, "count_wombats")
    assert "wombat.py:count_wombats" not in found(shell, "count_wombats")
    assert "there is no file src/quokka.py" in shell.fails(
        "mem", "get", "src/quokka.py:parse_quokka"
    )
    assert changed(shell) == 0


def test_a_moved_file_keeps_its_uses(shell: Shell) -> None:
    shell.ok("mem", "get", "wombat.py:count_wombats")
    (shell.cwd / "wombat.py").rename(shell.cwd / "marsupial.py")
    shell.ok("mem", "search", "count_wombats")
    with shell.store() as store:
        assert len(store.chunks.get_accesses(["marsupial.py:count_wombats"])) == 1


def test_moved_lines(shell: Shell) -> None:
    write_tree(shell.cwd, {"wombat.py": f"# one\n# two\n\n{WOMBAT}"})
    assert found(shell, "count_wombats")["wombat.py:count_wombats"] == [4, 5]


def test_three_changed_files_are_in_the_answer(shell: Shell) -> None:
    """One is edited, two are new, of which one is in a new folder."""
    write_tree(
        shell.cwd,
        {
            "wombat.py": "def feed_numbats(): pass\n",
            "src/numbat.py": "def wake_numbats(): pass\n",
            "deep/down/numbat.py": "def hide_numbats(): pass\n",
            "ignored/numbat.py": "def lose_numbats(): pass\n",
        },
    )
    ids = found(shell, "numbats feed wake hide lose")
    assert {"wombat.py:feed_numbats", "src/numbat.py:wake_numbats"} <= ids.keys()
    assert "deep/down/numbat.py:hide_numbats" in ids
    assert not any("ignored" in id_ or "count_wombats" in id_ for id_ in ids)


def test_a_new_file_in_a_folder_that_was_empty(shell: Shell) -> None:
    (shell.cwd / "later" / "still").mkdir(parents=True)
    shell.ok("mem", "search", "quokka")
    write_tree(shell.cwd, {"later/still/numbat.py": "def wake_numbats(): pass\n"})
    assert "later/still/numbat.py:wake_numbats" in found(shell, "wake_numbats")


def test_an_edit_that_restores_size_and_time(shell: Shell) -> None:
    file = shell.cwd / "wombat.py"
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    file.write_text(WOMBAT.replace("wombats", "numbats"))
    os.utime(file, ns=times)
    assert "wombat.py:count_numbats" in found(shell, "count_numbats")


def test_more_than_fits_a_second_is_said_and_read_later(shell: Shell) -> None:
    shell.environ = WITHOUT_VECTORS
    write_tree(shell.cwd, MUCH)
    done = shell.run("mem", "search", "quokka")
    assert "src/quokka.py" in done.stdout
    assert "more files changed: `aur index` reads them" in done.stderr
    count = changed(shell)
    assert count
    assert count < len(MUCH)
    shell.ok("mem", "search", "quokka")
    assert (changed(shell) or 0) < count
    shell.ok("mem", "index")
    assert changed(shell) == 0


def test_switched_off_it_shows_only_what_is_there(shell: Shell) -> None:
    """Nothing is read; rows of files that are gone are left out, and moved lines are found."""
    shell.environ = OFF
    write_tree(
        shell.cwd, {"wombat.py": f"# one\n\n{WOMBAT}", "numbat.py": "def wake_numbat(): 1\n"}
    )
    (shell.cwd / "src" / "quokka.py").unlink()
    assert "src/quokka.py" not in shell.ok("mem", "search", "parse_quokka")
    assert found(shell, "count_wombats")["wombat.py:count_wombats"] == [3, 4]
    assert not any("numbat.py" in id_ for id_ in found(shell, "wake_numbat"))
    got = shell.run("mem", "get", "src/quokka.py:parse_quokka")
    assert "src/quokka.py is gone: this is the stored text" in got.stderr
    assert changed(shell) == 3
    write_tree(shell.cwd, {"wombat.py": "pass\n"})
    assert "wombat.py:count_wombats" not in found(shell, "count_wombats")


def test_the_setting_has_two_names(shell: Shell) -> None:
    shell.ok("config", "set", "index.auto", "false")
    assert shell.ok("config", "get", "indexing.auto") == "false\n"
    write_tree(shell.home, {"config.yml": "index:\n  auto: false\n"})
    assert shell.ok("config", "get", "index.auto") == "false\n"


def test_another_index_run_is_not_waited_for(shell: Shell) -> None:
    write_tree(shell.cwd, {"numbat.py": "def wake_numbats(): pass\n"})
    (shell.cwd / "wombat.py").unlink()
    with shell.store() as store, store.alone():
        done = shell.run("mem", "search", "count_wombats parse_quokka")
    assert "another process is writing to the memory" in done.stderr
    assert "src/quokka.py" in done.stdout
    assert "wombat.py" not in done.stdout
    assert "numbat.py:wake_numbats" in found(shell, "wake_numbats")


@in_a_file
def test_a_memory_that_cannot_be_written() -> None:
    with small_disk() as disk:
        files = {"src/quokka.py": QUOKKA, "wombat.py": WOMBAT}
        project = make_repository(disk.folder / "web", files)
        shell = Shell(project, disk.folder / "home")
        shell.ok("mem", "index")
        (project / "wombat.py").unlink()
        disk.make_read_only()
        done = shell.run("mem", "search", "count_wombats parse_quokka")
    assert done.returncode == 0
    assert "Files have changed, and cannot be read now" in done.stderr
    assert "src/quokka.py" in done.stdout
    assert "wombat.py" not in done.stdout


def test_only_what_was_indexed_is_read(shell: Shell) -> None:
    """Neither the rest of a project, nor a repository that was never indexed."""
    part = make_repository(shell.cwd.parent / "api", {"src/a.py": QUOKKA, "rest/b.py": WOMBAT})
    shell.ok("mem", "index", "src", cwd=part)
    write_tree(part, {"src/numbat.py": "def wake_numbats(): pass\n", "rest/c.py": "numbats = 1\n"})
    ids = found(shell, "numbats", cwd=part)
    assert "src/numbat.py:wake_numbats" in ids
    assert not any(id_.startswith("rest/") for id_ in ids)

    other = make_repository(shell.cwd.parent / "other", {"c.py": "numbats = 1\n"})
    shell.ok("mem", "learn", "--private", "numbats sleep at night")
    shell.ok("mem", "search", "numbats", cwd=other)
    assert not (other / ".aurora").exists()


def test_each_memory_of_a_search_is_refreshed(shell: Shell) -> None:
    api = make_repository(shell.cwd.parent / "api", {"serve.py": WOMBAT})
    shell.ok("mem", "index", cwd=api)
    shell.ok("workspace", "add", "../api")
    log = shell.home / "logs" / "conversations" / "2025" / "12" / "tiles-2025-12-15.md"
    text = "# Conversation: tiles\nDate: 2025-12-15\nQuery: how\n\n## Phase 1: Plan\n{}\n"
    write_tree(log.parent, {log.name: text.format("Tiles are blue.")})
    shell.ok("mem", "index")
    write_tree(api, {"serve.py": "def serve_numbats(): pass\n"})
    write_tree(log.parent, {log.name: text.format("Tiles are numbats.")})
    answer = json.loads(shell.ok("mem", "search", "numbats", "--workspace", "--json"))
    assert {result["memory"] for result in answer["results"]} >= {"api", "personal"}


def test_what_was_forgotten_does_not_come_back_by_itself(shell: Shell) -> None:
    shell.ok("mem", "forget", "wombat.py", "--yes")
    write_tree(shell.cwd, {"numbat.py": "def wake_numbats(): pass\n"})
    assert "numbat.py:wake_numbats" in found(shell, "wake_numbats")
    assert not any("wombat.py" in id_ for id_ in found(shell, "count_wombats"))


@in_a_file
def test_a_memory_that_came_with_a_clone_is_not_written(shell: Shell, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(shell.cwd, clone)
    write_tree(clone, {"numbat.py": "def wake_numbats(): pass\n"})
    before = (clone / ".aurora" / "memory.db").read_bytes()
    assert "numbat.py" not in shell.run("mem", "search", "quokka numbats", cwd=clone).stdout
    assert (clone / ".aurora" / "memory.db").read_bytes() == before


def test_places_outside_of_the_project_are_left_alone(shell: Shell, tmp_path: Path) -> None:
    """The list of places is in the memory, which may have come with a clone."""
    outside = write_tree(tmp_path / "outside", {"numbat.py": "def wake_numbats(): pass\n"})
    with shell.store() as store:
        store.chunks.put_indexed_places({str(outside): False, "../outside": False, ".": True})
    (shell.cwd / ".aurora" / "indexes" / FILE).unlink(missing_ok=True)
    assert not any("numbat" in id_ for id_ in found(shell, "wake_numbats"))


def test_a_program_that_runs_on_reads_the_rest(shell: Shell) -> None:
    write_tree(shell.cwd, MUCH)
    places = Places(shell.home, shell.cwd)
    settings = SettingsFiles(places, WITHOUT_VECTORS)
    with Memory(places, settings, reads_on=True) as memory:
        notes = [note.text for note in memory.search("quokka").notes]
        assert any(text.endswith("more files changed, being read") for text in notes)
        until = time.monotonic() + 120
        while memory.stats().changed and time.monotonic() < until:
            time.sleep(0.5)
        assert memory.stats().changed == 0


def test_closing_ends_what_is_read_in_the_background(shell: Shell) -> None:
    write_tree(shell.cwd, MUCH)
    places = Places(shell.home, shell.cwd)
    with Memory(places, SettingsFiles(places, WITHOUT_VECTORS), reads_on=True) as memory:
        memory.search("quokka")
        assert [each.name for each in threading.enumerate() if each.name == READER] == [READER]
    assert all(each.name != READER for each in threading.enumerate())
    assert changed(shell)  # the rest is read by the next one


def test_a_commit_alone_changes_nothing(shell: Shell) -> None:
    write_tree(shell.cwd, {"wombat.py": f"# new\n{WOMBAT}"})
    shell.ok("mem", "search", "wombats")
    subprocess.run(["git", "commit", "-qam", "new"], cwd=shell.cwd, check=True)
    assert changed(shell) == 0
