"""Real changes on a real disk. Watching begins with the watcher, so no test has to wait first."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from aurora import Memory, Places
from aurora.config.load import approve
from aurora.sources.watch import FileWatcher
from tests.builders import write_tree
from tests.sources.repository import git, make_repository

Watch: TypeAlias = Callable[..., Iterator[frozenset[Path]]]
PATIENCE = 60.0  # seconds after which nothing will come any more

FILES: dict[str, str | bytes] = {
    "app.py": "def main(): pass\n",
    "src/auth.py": "def login(): pass\n",
    ".gitignore": "*.log\ntarget/\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project", FILES)


@pytest.fixture(params=[False, True], ids=["folders", "trees"])
def recursive(request: pytest.FixtureRequest) -> bool:
    """Each folder by itself, as on Linux, or trees, as elsewhere."""
    return bool(request.param)


@pytest.fixture
def deadline() -> Iterator[threading.Event]:
    """Ends what waits in vain. The package swallows the exception of a test's own time limit."""
    event = threading.Event()
    timer = threading.Timer(PATIENCE, event.set)
    timer.start()
    yield event
    timer.cancel()


@pytest.fixture
def watch(deadline: threading.Event) -> Watch:
    def watch(*targets: Path, **options: object) -> Iterator[frozenset[Path]]:
        options = {"stop": deadline, "quiet_ms": 100} | options
        return iter(FileWatcher(targets, **options))  # type: ignore[arg-type]

    return watch


def wait_for(bursts: Iterator[frozenset[Path]], *paths: Path) -> set[Path]:
    """Everything that is told until all of these were."""
    told: set[Path] = set()
    while not told.issuperset(paths):
        told |= next(bursts)
    return told


def test_what_happens_to_a_file_is_told(watch: Watch, project: Path, recursive: bool) -> None:
    bursts = watch(project, recursive=recursive)
    app, new = project / "app.py", project / "src" / "new.py"

    app.write_text("def other(): pass\n")
    assert next(bursts) == {app}
    new.write_text("def new(): pass\n")
    assert next(bursts) == {new}
    new.rename(project / "moved.py")
    assert next(bursts) == {new, project / "moved.py"}
    app.unlink()
    assert next(bursts) == {app}


def test_changes_close_together_are_one_burst(watch: Watch, project: Path) -> None:
    bursts = watch(project)
    write_tree(project, {f"m{number}.py": "" for number in range(50)})
    assert next(bursts) == {project / f"m{number}.py" for number in range(50)}


def test_noise_wakes_nobody(watch: Watch, project: Path, recursive: bool) -> None:
    bursts = watch(project, recursive=recursive)
    write_tree(
        project,
        {
            "debug.log": "x", "target/debug/a.o": "x", "src/__pycache__/auth.pyc": b"x",
            "node_modules/a/index.js": "x", ".aurora/memory.db": b"x", "src/.auth.py.swp": b"x",
            "src/auth.py~": "x", ".git/index.lock": "x", ".git/objects/ab/cd": b"x",
        },
    )  # fmt: skip
    git(project, "status")
    (project / "marker.py").touch()
    assert next(bursts) == {project / "marker.py"}


def test_the_memorys_own_writes_wake_nobody(watch: Watch, project: Path) -> None:
    (project / ".aurora").mkdir()
    (project / ".aurora" / "config.yml").write_text("store:\n  path: ../data/memory.db\n")
    home = project / "home"
    approve(home, project / ".aurora" / "config.yml")
    with Memory(Places(home, project)) as memory:
        memory.index(project)
        assert (project / "data" / "memory.db").exists()
        own = (memory.admin.path, memory.admin.index_path.parent, home)
        bursts = watch(project, own=own)
        write_tree(project, {"app.py": "def changed(): pass\n"})
        assert next(bursts) == {project / "app.py"}
        memory.index(project)
        (project / "marker.py").touch()
        assert next(bursts) == {project / "marker.py"}


def test_new_folders_are_followed(watch: Watch, project: Path, recursive: bool) -> None:
    bursts = watch(project, recursive=recursive)
    write_tree(project, {"new/deep/a.py": ""})
    wait_for(bursts, project / "new")
    write_tree(project, {"new/deep/b.py": ""})
    wait_for(bursts, project / "new" / "deep" / "b.py")
    (project / "new").rename(project / "newer")
    wait_for(bursts, project / "new", project / "newer")
    write_tree(project, {"newer/deep/b.py": "x"})
    wait_for(bursts, project / "newer" / "deep" / "b.py")


def test_a_folder_that_leaves_is_not_followed(watch: Watch, project: Path) -> None:
    bursts = watch(project)
    elsewhere = project.with_name("elsewhere")
    (project / "src").rename(elsewhere)
    wait_for(bursts, project / "src")
    write_tree(elsewhere, {"auth.py": "def logout(): pass\n"})
    write_tree(project, {"marker.py": ""})
    assert next(bursts) == {project / "marker.py"}


def test_a_folder_that_is_no_longer_ignored_is_followed(watch: Watch, project: Path) -> None:
    write_tree(project, {"target/a.py": ""})
    bursts = watch(project)
    write_tree(project, {".gitignore": "*.log\n"})
    wait_for(bursts, project / ".gitignore")
    write_tree(project, {"target/b.py": ""})
    wait_for(bursts, project / "target" / "b.py")


def test_a_commit_is_told_and_staging_is_not(watch: Watch, project: Path, recursive: bool) -> None:
    write_tree(project, {"app.py": "def other(): pass\n"})
    bursts = watch(project, recursive=recursive)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "--message", "other")
    told = wait_for(bursts, project / ".git" / "logs" / "HEAD")
    assert project / ".git" / "index" not in told
    assert project / ".git" / "COMMIT_EDITMSG" not in told


@pytest.mark.parametrize(
    "command",
    [
        ("checkout", "--quiet", "-b", "feature/login"),
        ("checkout", "--quiet", "--detach"),
        ("reset", "--quiet", "--hard", "HEAD~1"),
        ("commit", "--quiet", "--allow-empty", "--message", "nothing"),
    ],
    ids=lambda words: words[0],
)
def test_head_is_followed(watch: Watch, project: Path, command: tuple[str, ...]) -> None:
    git(project, "commit", "--quiet", "--allow-empty", "--message", "second")
    bursts = watch(project)
    git(project, *command)
    assert any(".git" in path.parts for path in next(bursts))


def test_a_commit_in_an_added_work_tree_is_told(
    watch: Watch, project: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    git(project, "worktree", "add", "--quiet", str(second))
    bursts = watch(second)
    git(second, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    wait_for(bursts, project / ".git" / "worktrees" / "second" / "logs" / "HEAD")


def test_a_folder_that_becomes_a_repository(watch: Watch, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "plain", {"app.py": ""})
    bursts = watch(root)
    git(root, "init", "--quiet")
    wait_for(bursts, root / ".git")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "first")
    assert any("refs" in path.parts for path in next(bursts))


def test_a_single_file_is_followed_when_saving_replaces_it(
    watch: Watch, project: Path, recursive: bool
) -> None:
    app = project / "app.py"
    bursts = watch(app, recursive=recursive)
    for text in ("first", "second"):
        write_tree(project, {"app.py.new": text, "other.py": text})
        (project / "app.py.new").replace(app)
        assert next(bursts) == {app}


def test_a_target_that_is_made_anew_is_followed(
    watch: Watch, project: Path, recursive: bool
) -> None:
    """The new folder often has the number of the old one."""
    source = project / "src"
    bursts = watch(source, recursive=recursive)
    for text in ("first", "second"):
        shutil.rmtree(source)
        write_tree(source, {"auth.py": text})
        wait_for(bursts, source)
        write_tree(source, {"more.py": text})
        wait_for(bursts, source / "more.py")


def test_a_target_that_comes_back_is_followed(watch: Watch, project: Path) -> None:
    source = project / "src"
    bursts = watch(source)
    shutil.rmtree(source)
    assert next(bursts) == {source}
    write_tree(source, {"auth.py": ""})
    wait_for(bursts, source)
    write_tree(source, {"more.py": ""})
    wait_for(bursts, source / "more.py")


def test_logs_are_followed_from_the_day_there_are_some(
    watch: Watch, project: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "home" / "logs" / "conversations"
    bursts = watch(project, logs=logs)
    logs.mkdir(parents=True)
    assert next(bursts) == {project}
    write_tree(logs, {"2025/11/talk.md": ""})
    wait_for(bursts, logs / "2025")
    write_tree(logs, {"2025/11/more.md": ""})
    wait_for(bursts, logs / "2025" / "11" / "more.md")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of any bytes")
def test_a_name_that_is_not_utf8_does_not_end_it(watch: Watch, project: Path) -> None:
    bursts = watch(project)
    name = os.fsencode(project) + b"/\xff"
    os.close(os.open(name, os.O_CREAT))
    assert next(bursts) == {project}
    write_tree(project, {"app.py": "def other(): pass\n"})
    assert next(bursts) == {project / "app.py"}


def test_a_flood_is_told_as_everything(watch: Watch, project: Path) -> None:
    """The system may have dropped changes: also those of folders that it never told of."""
    bursts = watch(project)
    write_tree(project, {f"src/m{number}.log": "" for number in range(2500)})
    assert next(bursts) == {project}


def test_links_are_not_followed(watch: Watch, project: Path, tmp_path: Path) -> None:
    outside = write_tree(tmp_path / "outside", {"a.py": ""})
    (project / "link").symlink_to(outside)
    bursts = watch(project)
    write_tree(outside, {"a.py": "x", "b.py": ""})
    write_tree(project, {"marker.py": ""})
    assert next(bursts) == {project / "marker.py"}


def test_it_ends_when_asked(watch: Watch, project: Path) -> None:
    stop = threading.Event()
    bursts = watch(project, stop=stop)
    write_tree(project, {"app.py": ""})
    next(bursts)
    threading.Timer(0.1, stop.set).start()
    assert list(bursts) == []
