"""Where things live: the user's home of Aurora, and the project around a working directory."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from aurora.config.places import Places, make_project, shown
from aurora.errors import ConfigError, SourceError, UnsafeFolderError
from tests.config.world import World
from tests.sources.repository import as_ordinary_user


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_without_a_project_the_memory_is_the_users(world: World) -> None:
    """`~/.aurora` is the home of everything that belongs to no project."""
    places = Places.find(folder(world.root / "code"), {})
    assert places == Places(world.home)
    assert (places.memory_folder, places.user_config, places.project_config) == (
        world.home,
        world.home / "config.yml",
        None,
    )


@pytest.mark.parametrize("below", [".", "src", "src/deep/down"])
def test_the_project_is_found_from_anywhere_inside(world: World, below: str) -> None:
    """The folder that holds `.aurora` is the root, however deep one works."""
    folder(world.project / ".aurora")
    places = Places.find(folder(world.project / below), {})
    assert places == Places(world.home, world.project)
    assert (places.memory_folder, places.project_config) == (
        world.project / ".aurora",
        world.project_file,
    )


def test_the_nearest_project_wins(world: World) -> None:
    """A project inside a project is its own."""
    folder(world.project / ".aurora")
    inner = world.project / "vendor" / "lib"
    folder(inner / ".aurora")
    assert Places.find(folder(inner / "src"), {}) == Places(world.home, inner)


def test_the_users_home_is_not_a_project(world: World) -> None:
    """`~/.aurora` above the working directory does not make the whole home a project."""
    folder(world.home)
    assert Places.find(folder(world.root / "code"), {}) == Places(world.home)
    assert Places.find(world.root, {}) == Places(world.home)


def test_the_users_home_is_not_a_project_even_when_another_is_chosen(world: World) -> None:
    """Who sets AURORA_HOME wants nothing written to `~/.aurora`, least of all as a project."""
    folder(world.home)
    other = world.root / "other"
    assert Places.find(folder(world.root / "code"), {"AURORA_HOME": str(other)}) == Places(other)


def test_aurora_home_is_not_a_project(world: World) -> None:
    """A home inside the working tree, or a link to it, is a home still."""
    home = folder(world.project / ".aurora")
    (world.root / "link").symlink_to(home)
    for name in (home, world.root / "link"):
        assert Places.find(world.project, {"AURORA_HOME": str(name)}) == Places(name)


def test_aurora_home_moves_everything_of_the_user(world: World) -> None:
    """`~` is understood, and an empty variable is none."""
    assert Places.find(world.root, {"AURORA_HOME": "~/elsewhere"}) == Places(
        world.root / "elsewhere"
    )
    assert Places.find(world.root, {"AURORA_HOME": ""}) == Places(world.home)


def test_a_file_named_like_the_folder_makes_no_project(world: World) -> None:
    """Only a folder can hold a memory."""
    folder(world.project)
    (world.project / ".aurora").write_text("", encoding="utf-8")
    assert Places.find(world.project, {}) == Places(world.home)


def test_looking_for_places_makes_nothing(world: World) -> None:
    """Reading where things would be leaves no trace on the disk."""
    Places.find(world.root, {})
    assert list(world.root.iterdir()) == []


def test_a_made_project_is_found_and_ignores_itself(world: World) -> None:
    """It holds a `.gitignore` of `*`, is closed to others, and making it again changes nothing."""
    folder(world.project)
    make_project(world.project)
    make_project(world.project)
    memory = world.project / ".aurora"
    assert [file.name for file in memory.iterdir()] == [".gitignore"]
    assert (memory / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert memory.stat().st_mode & 0o077 == 0
    assert Places.find(world.project, {}).project == world.project


def test_git_never_sees_a_made_project(world: World) -> None:
    """The real git has nothing to add."""
    folder(world.project)
    subprocess.run(["git", "init", "-q"], cwd=world.project, check=True)
    make_project(world.project)
    (world.project / ".aurora" / "memory.db").write_bytes(b"")
    told = subprocess.run(
        ["git", "status", "--porcelain"], cwd=world.project, check=True, capture_output=True
    )
    assert told.stdout == b""


def test_a_gitignore_of_the_users_own_stays(world: World) -> None:
    """Who shares the settings file with a team has said so there."""
    ignore = folder(world.project / ".aurora") / ".gitignore"
    ignore.write_text("*\n!config.yml\n", encoding="utf-8")
    make_project(world.project)
    assert ignore.read_text(encoding="utf-8") == "*\n!config.yml\n"


def test_a_project_that_cannot_be_made_is_an_error_with_a_hint(world: World) -> None:
    """A file in the way, or no folder at all, is told with its path."""
    folder(world.project)
    (world.project / ".aurora").write_text("in the way", encoding="utf-8")
    for root in (world.project, world.root / "nowhere"):
        with pytest.raises(SourceError) as caught:
            make_project(root)
        assert caught.value.message.startswith(f"Cannot make {root / '.aurora'}: ")
        assert caught.value.hint == "check who owns the folder"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("a/b.yml", "~/a/b.yml", id="below-home"),
        pytest.param("/opt/b.yml", "/opt/b.yml", id="elsewhere"),
        pytest.param("../neighbour", "~/../neighbour", id="not-resolved"),
    ],
)
def test_a_path_is_shown_as_a_person_would_type_it(world: World, path: str, expected: str) -> None:
    """Below the home directory it starts with `~`; nothing else is changed."""
    assert shown(world.root / path) == expected


def test_a_home_of_nobody_is_an_error_with_a_hint(world: World) -> None:
    with pytest.raises(ConfigError, match="AURORA_HOME"):
        Places.find(world.root, {"AURORA_HOME": "~nobody-of-that-name/aurora"})


def test_a_folder_above_that_is_shut_is_no_project() -> None:
    with tempfile.TemporaryDirectory() as name:
        inner = folder(Path(name, "shut", "inner"))
        inner.parent.chmod(0)
        with as_ordinary_user():
            assert Places.find(inner, {"AURORA_HOME": "/nowhere"}) == Places(Path("/nowhere"))
        inner.parent.chmod(0o700)


@pytest.mark.parametrize("name", ["", ".gitignore", "memory.db", "indexes"])
def test_a_link_out_of_the_project_is_not_written_through(world: World, name: str) -> None:
    """A clone can bring links along: nothing outside may be made because of one."""
    outside = folder(world.root / "outside")
    link = folder(world.project) / ".aurora" / name
    folder(link.parent)
    link.symlink_to(outside if name == "" else outside / "new")
    with pytest.raises(UnsafeFolderError, match="is a link: Aurora does not use it"):
        make_project(world.project)
    assert list(outside.iterdir()) == []
