"""What a memory knows of every chunk's past is what `git blame -L` says, whatever happened."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.indexing.indexer import IndexReport
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Chunk, ChunkHistory, Lines, Tracking
from tests.builders import NOW, write_tree
from tests.sources.blamed import blame_lines
from tests.sources.dated import commit, day, start
from tests.sources.random_repository import RandomRepository
from tests.sources.repository import git
from tests.sources.test_git import listing

UNTRACKED, UNAVAILABLE = ChunkHistory(Tracking.UNTRACKED), ChunkHistory(Tracking.UNAVAILABLE)
FUNCTIONS = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(6))


@pytest.fixture
def memory(tmp_path: Path, root: Path) -> Iterator[Memory]:
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        yield memory


def stored(memory: Memory) -> dict[str, tuple[Chunk, ChunkHistory | None]]:
    """Every chunk by id, with its history less the time it was read at."""
    with closing(SQLiteStore(memory.admin.path)) as store:
        chunks = list(store.chunks.iter_chunks())
        histories = store.chunks.get_histories([chunk.id for chunk in chunks])
    found = {id_: replace(history, read_at=None) for id_, history in histories.items()}
    return {chunk.id: (chunk, found.get(chunk.id)) for chunk in chunks}


def histories(memory: Memory) -> dict[str, ChunkHistory | None]:
    return {id_: history for id_, (_, history) in stored(memory).items()}


def blamed(root: Path, path: str, lines: Lines) -> ChunkHistory:
    """Git's own word; it knows nothing of a file without a commit."""
    try:
        told = blame_lines(root, path, lines)
    except subprocess.CalledProcessError:
        return UNTRACKED
    return told if told.commits or path in git(root, "ls-tree", "-rz", "HEAD") else UNTRACKED


def faults(memory: Memory, root: Path) -> list[str]:
    """Where the memory and git differ. There must be something to compare."""
    found, compared = [], 0
    for chunk, history in stored(memory).values():
        assert chunk.lines is not None
        compared += 1
        expected = blamed(root, chunk.path, chunk.lines)
        if history != expected:
            found.append(f"{chunk.id} {chunk.lines}: {history}, git says {expected}")
    assert compared
    return found


def index(memory: Memory, root: Path) -> list[str]:
    """Index without touching the user's repository; what was warned of git."""
    before = listing(root / ".git") if (root / ".git").is_dir() else None
    report = memory.index(root)
    assert before is None or listing(root / ".git") == before
    assert report.is_partial is False
    return about_git(report)


def about_git(report: IndexReport) -> list[str]:
    return [text for text in report.warnings if not text.startswith("No conversation logs")]


def on_disk(memory: Memory) -> list[bytes]:
    """The database, and what is still to be put into it."""
    parts = (memory.admin.path, memory.admin.path.with_name("memory.db-wal"))
    return [part.read_bytes() for part in parts]


def of_january(*days: int, uncommitted: bool = False) -> ChunkHistory:
    times = tuple(int(day(number).timestamp()) for number in days)
    return ChunkHistory(commits=times, uncommitted=uncommitted)


@pytest.mark.parametrize("seed", range(200, 204))
def test_random_pasts(tmp_path: Path, seed: int) -> None:
    repository = RandomRepository(tmp_path / "r", seed)
    root, choice = repository.root, random.Random(seed)  # noqa: S311
    steps: list[Callable[[], object]] = [
        lambda: repository.grow(3),
        repository.scribble,
        lambda: git(root, "commit", "--quiet", "--all", "--allow-empty", "--amend", "--no-edit"),
        lambda: write_tree(root, {f"new{choice.randint(0, 9)}.py": "x = 1\n" * 9}),
        lambda: git(root, "stash", "--quiet", "--include-untracked"),
    ]
    repository.grow(15)
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        for _ in range(8):
            choice.choice(steps)()
            index(memory, root)
            assert faults(memory, root) == []


def edited() -> str:
    return FUNCTIONS.replace("return 3", "return 33").replace("def f5", "# about\ndef f5")


def on_a_branch(root: Path) -> None:
    """A commit on another branch, then back; both change the file in different places."""
    git(root, "checkout", "--quiet", "-b", "other", "HEAD~1")
    commit(root, 5, {"sub/a.py": FUNCTIONS.replace("return 0", "return 10")})
    git(root, "checkout", "--quiet", "main")


HAPPENINGS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "edit": lambda root: write_tree(root, {"sub/a.py": edited()}),
    "edit-and-stage": lambda root: (
        write_tree(root, {"sub/a.py": edited()}), git(root, "add", "."),
    ),
    "commit": lambda root: commit(root, 5, {"sub/a.py": edited()}),
    "amend": lambda root: git(root, "commit", "-q", "--amend", "--no-edit", f"--date={day(9)}"),
    "reset": lambda root: git(root, "reset", "--quiet", "--hard", "HEAD~1"),
    "soft-reset": lambda root: git(root, "reset", "--quiet", "--soft", "HEAD~1"),
    "revert": lambda root: git(root, "revert", "--no-edit", "HEAD"),
    "other-branch": lambda root: (on_a_branch(root), git(root, "checkout", "--quiet", "other")),
    "detached": lambda root: git(root, "checkout", "--quiet", "HEAD~1"),
    "rebase": lambda root: (on_a_branch(root), git(root, "rebase", "--quiet", "other")),
    "merge": lambda root: (on_a_branch(root), git(root, "merge", "--quiet", "--no-edit", "other")),
    "git-mv": lambda root: git(root, "mv", "sub/a.py", "moved.py"),
    "git-mv-and-edit": lambda root: (
        git(root, "mv", "sub/a.py", "moved.py"), write_tree(root, {"moved.py": edited()}),
    ),
    "git-mv-and-commit": lambda root: (git(root, "mv", "sub", "dir"), commit(root, 6)),
    "plain-mv": lambda root: (root / "sub" / "a.py").rename(root / "moved.py"),
    "swap": lambda root: (
        git(root, "mv", "b.py", "t"), git(root, "mv", "sub/a.py", "b.py"),
        git(root, "mv", "t", "sub/a.py"), commit(root, 6),
    ),
    "untrack": lambda root: git(root, "rm", "--quiet", "--cached", "sub/a.py"),
    "untrack-and-edit": lambda root: (
        git(root, "rm", "-q", "--cached", "sub/a.py"), write_tree(root, {"sub/a.py": edited()}),
    ),
    "untrack-and-commit": lambda root: (
        git(root, "rm", "--quiet", "--cached", "sub/a.py"),
        git(root, "commit", "--quiet", "--message", "untracked"),
    ),
    "delete-and-restore": lambda root: (
        (root / "b.py").unlink(), commit(root, 6), git(root, "checkout", "-q", "HEAD~1", "b.py"),
    ),
    "new-file": lambda root: write_tree(root, {"new.py": FUNCTIONS}),
    "new-file-staged": lambda root: (
        write_tree(root, {"new.py": FUNCTIONS}), git(root, "add", "."),
    ),
    "copy": lambda root: shutil.copy(root / "b.py", root / "copy.py"),
    "line-ends": lambda root: write_tree(root, {"b.py": FUNCTIONS.replace("\n", "\r\n")}),
    "gc": lambda root: git(root, "gc", "--quiet", "--prune=now"),
}  # fmt: skip


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_after_what_people_do(memory: Memory, root: Path, happening: str) -> None:
    start(root, {"sub/a.py": FUNCTIONS, "b.py": FUNCTIONS})
    commit(root, 2, {"sub/a.py": FUNCTIONS.replace("return 1", "return 11")})
    commit(root, 3, {"b.py": FUNCTIONS + "def g(): pass\n"})
    assert (index(memory, root), faults(memory, root)) == ([], [])

    HAPPENINGS[happening](root)

    assert (index(memory, root), faults(memory, root)) == ([], [])
    before = on_disk(memory)
    assert index(memory, root) == []
    assert on_disk(memory) == before


def test_a_history_is_read_when_the_file_or_the_commit_is_another(
    memory: Memory, root: Path
) -> None:
    start(root, {"a.py": "def f(): pass\n"})
    index(memory, root)
    assert histories(memory) == {"a.py:f": of_january(1)}
    write_tree(root, {"a.py": "def f(): return 1\n"})
    index(memory, root)
    assert histories(memory) == {"a.py:f": of_january(uncommitted=True)}
    commit(root, 2)
    index(memory, root)
    assert histories(memory) == {"a.py:f": of_january(2)}


def test_an_unchanged_history_is_not_written_again_but_counts_as_seen(
    tmp_path: Path, root: Path
) -> None:
    start(root, {"a.py": "def f(): pass\n", "b.bin": b"\0"})
    moments = [NOW, NOW + timedelta(hours=20), NOW + timedelta(hours=30)]
    read = []
    with Memory(Places(tmp_path / "home", root), now=lambda: moments[len(read)]) as memory:
        for _ in moments:
            memory.index(root)
            with closing(SQLiteStore(memory.admin.path)) as store:
                read_at = store.chunks.get_histories(["a.py:f"])["a.py:f"].read_at
                read.append((read_at, store.generation()))
    assert [at for at, _ in read] == [moments[0], moments[0], moments[2]]
    assert len({generation for _, generation in read}) == 1


def test_the_code_around_is_tracked_and_files_outside_are_not(
    memory: Memory, root: Path, tmp_path: Path
) -> None:
    start(root, {"a.py": "def f(): pass\n"})
    write_tree(root, {"untracked.py": "def g(): pass\n"})
    outside = write_tree(tmp_path / "outside", {"o.py": "def o(): pass\n"})

    memory.index(root, outside)

    assert histories(memory) == {
        "a.py:f": of_january(1), "untracked.py:g": UNTRACKED, f"{outside}/o.py:o": UNTRACKED,
    }  # fmt: skip


@pytest.mark.parametrize("as_submodule", [False, True], ids=["nested", "submodule"])
def test_a_repository_inside_has_a_past_of_its_own(
    memory: Memory, root: Path, tmp_path: Path, as_submodule: bool
) -> None:
    start(root, {"a.py": "def f(): pass\n"})
    inner = start(tmp_path / "inner", {"b.py": "def g(): pass\n"})
    commit(inner, 7, {"b.py": "def g(): pass\n\n\ndef h(): pass\n"})
    if as_submodule:
        allowed = ("-c", "protocol.file.allow=always")
        git(root, *allowed, "submodule", "--quiet", "add", str(inner), "inner")
        commit(root, 8)
    else:
        shutil.copytree(inner, root / "inner")
    expected = {
        "a.py:f": of_january(1),
        "inner/b.py:g": of_january(1),
        "inner/b.py:h": of_january(7),
    }

    def of_code() -> dict[str, ChunkHistory | None]:
        return {id_: h for id_, h in histories(memory).items() if ".py:" in id_}

    assert (index(memory, root), of_code()) == ([], expected)
    commit(root / "inner", 9, {"b.py": "def g(): return 9\n\n\ndef h(): pass\n"})
    assert index(memory, root) == []
    assert of_code() == expected | {"inner/b.py:g": of_january(9)}


def test_a_shallow_clone_knows_what_it_holds_and_later_the_rest(
    memory: Memory, root: Path, tmp_path: Path
) -> None:
    full = start(tmp_path / "full", {"a.py": FUNCTIONS})
    for number in range(2, 6):
        commit(full, number, {"a.py": FUNCTIONS.replace(f"return {number}", f"return 1{number}")})
    git(tmp_path, "clone", "--quiet", "--depth", "2", full.as_uri(), str(root))

    assert (index(memory, root), faults(memory, root)) == ([], [])
    shallow = histories(memory)
    git(root, "fetch", "--quiet", "--unshallow")
    assert (index(memory, root), faults(memory, root)) == ([], [])
    assert histories(memory) != shallow


def test_the_first_commit_and_the_loss_of_the_repository_are_noticed(
    memory: Memory, root: Path
) -> None:
    write_tree(root, {"a.py": "def f(): pass\n"})
    git(root, "init", "--quiet")
    index(memory, root)
    assert histories(memory) == {"a.py:f": UNTRACKED}
    commit(root, 3)
    index(memory, root)
    assert histories(memory) == {"a.py:f": of_january(3)}
    shutil.rmtree(root / ".git")
    assert index(memory, root) == []
    assert histories(memory) == {"a.py:f": UNTRACKED}


def test_without_a_git_program_everything_is_indexed_and_the_past_is_unavailable(
    memory: Memory, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(root, {"a.py": "def f(): pass\n"})
    outside = write_tree(tmp_path / "outside", {"o.py": "def o(): pass\n"})
    memory.index(root, outside)
    write_tree(root, {"b.py": "def fresh(): pass\n"})
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        report = memory.index(root, outside)

    assert about_git(report) == [
        f"There is no git program: the files of {root} are chosen by its ignore files alone, "
        "and their history is not known. Install git"
    ]
    assert (report.parsed, report.is_partial) == (1, False)
    assert memory.search("fresh").results[0].chunk_id == "b.py:fresh"
    assert histories(memory) == {
        "a.py:f": UNAVAILABLE, "b.py:fresh": UNAVAILABLE, f"{outside}/o.py:o": UNTRACKED,
    }  # fmt: skip
    memory.index(root, outside)
    assert histories(memory) == {
        "a.py:f": of_january(1), "b.py:fresh": UNTRACKED, f"{outside}/o.py:o": UNTRACKED,
    }  # fmt: skip


def test_a_git_that_fails_once_is_asked_again(
    memory: Memory, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(root, {"a.py": "def f(): pass\n", "b.py": "def g(): pass\n"})
    refusal = 'case "$*" in *blame*a.py*) echo "fatal: no memory" >&2; exit 128;; esac'
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\n{refusal}\nexec "{shutil.which("git")}" "$@"\n')
    script.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(script.parent), prepend=":")
        warnings = index(memory, root)

    assert warnings == [f"git cannot tell the history of 1 files in {root}: no memory"]
    assert histories(memory) == {"a.py:f": UNAVAILABLE, "b.py:g": of_january(1)}
    assert index(memory, root) == []
    assert histories(memory) == {"a.py:f": of_january(1), "b.py:g": of_january(1)}


def test_without_asking_git_what_was_known_stays_and_is_read_later(
    memory: Memory, root: Path
) -> None:
    start(root, {"a.py": "def f(): pass\n"})
    memory.index(root, git=False)
    assert histories(memory) == {"a.py:f": None}
    memory.index(root)
    assert histories(memory) == {"a.py:f": of_january(1)}
    commit(root, 2, {"a.py": "def f(): return 1\n", "b.py": "def g(): pass\n"})
    memory.index(root, git=False)
    assert histories(memory) == {"a.py:f": of_january(1), "b.py:g": None}
    memory.index(root)
    assert histories(memory) == {"a.py:f": of_january(2), "b.py:g": of_january(2)}


def test_what_was_found_out_is_kept_and_nothing_else_is_left_behind(
    memory: Memory, root: Path, tmp_path: Path
) -> None:
    """A run that was killed while it wrote leaves a file that the next one takes away."""
    start(root, {f"m{n}.py": FUNCTIONS for n in range(20)})
    index(memory, root)
    folder = tmp_path / "home" / "cache" / "history"
    (kept,) = folder.glob("history-*")
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    leftover = kept.with_name(f"{kept.name}.{gone.stdout.strip()}.tmp")
    leftover.write_bytes(b"half")
    commit(root, 2, {"m1.py": "def f(): pass\n"})

    index(memory, root)

    left = {file.name for file in folder.iterdir()}
    head = git(root, "rev-parse", "HEAD").strip()
    assert left == {kept.name, f"history-{head}.book"}
    assert len(left) == 2
    indexes = memory.admin.index_path.parent
    files = {file.name for file in indexes.iterdir() if file.suffix != ".lock"}
    assert files == {"bm25.idx", "looks.json", "vectors.idx"}
    assert faults(memory, root) == []


def test_a_project_that_moved_asks_nothing_again(tmp_path: Path, root: Path) -> None:
    start(root, {f"m{n}.py": FUNCTIONS for n in range(20)})
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        index(memory, root)
    kept = {file.name: file.read_bytes() for file in memory.admin.index_path.parent.iterdir()}
    moved = root.rename(tmp_path / "moved")

    with Memory(Places(tmp_path / "home", moved), now=lambda: NOW) as memory:
        index(memory, moved)
        commit(moved, 2, {"m1.py": "def f(): pass\n"})
        index(memory, moved)
        assert faults(memory, moved) == []
    assert {file.name for file in memory.admin.index_path.parent.iterdir()} == kept.keys()


def test_names_of_any_kind_have_a_past(memory: Memory, root: Path) -> None:
    names = ["a b.py", "-x.py", "ü.py", "new\nline.py", 'quo"te.py', "tab\t.py", "*.py", "[a].py"]
    names += [":(top)y.py", "back\\slash.py", "-", "走/走.py", " .py", "HEAD"]
    start(root, dict.fromkeys(names, FUNCTIONS))
    commit(root, 2, {name: FUNCTIONS.replace("return 2", "return 22") for name in names})

    assert (index(memory, root), faults(memory, root)) == ([], [])
    write_tree(root, {name: edited() for name in names})
    assert (index(memory, root), faults(memory, root)) == ([], [])
    assert {chunk.path for chunk, _ in stored(memory).values()} == set(names)
