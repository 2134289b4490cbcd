"""Which files of a folder are worth reading, and why the others are not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.sources.reading import MAX_BYTES, Skipped
from aurora.sources.walk import SourceFile, walk_files
from aurora.sources.watch import survey
from tests.builders import write_tree
from tests.sources.repository import as_ordinary_user, git, make_repository


def found(root: Path) -> dict[str, str]:
    """Name → reason to skip it, or nothing for a file to read; names relative to the root."""
    return {
        os.path.relpath(file.path, root): file.reason if isinstance(file, Skipped) else ""
        for file in walk_files(root)
    }


def test_a_file_comes_with_its_size_and_time_and_identity(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "x = 1\n"})
    os.utime(tmp_path / "a.py", ns=(5, 1_700_000_000_123_456_789))
    status = (tmp_path / "a.py").stat()
    identity = f"{status.st_ctime_ns}-{status.st_ino}"

    assert list(walk_files(tmp_path)) == [
        SourceFile(tmp_path / "a.py", 6, 1_700_000_000_123_456_789, identity=identity)
    ]


def test_git_decides_inside_a_repository(tmp_path: Path) -> None:
    root = make_repository(
        tmp_path, {"a.py": "", "gone.py": "", "build/made.py": "", ".ci/run.py": "", "in/b.py": ""}
    )
    write_tree(
        root, {".gitignore": "*.log\n", "in/.gitignore": "c.py\n", "in/c.py": "", "x.log": ""}
    )
    (root / "gone.py").unlink()
    write_tree(root, {"new.py": ""})

    names = [
        ".ci/run.py",
        ".gitignore",
        "a.py",
        "build/made.py",
        "in/.gitignore",
        "in/b.py",
        "new.py",
    ]
    assert found(root) == dict.fromkeys(names, "")
    assert found(root / "in") == {".gitignore": "", "b.py": ""}


def test_elsewhere_hidden_and_vendored_folders_are_left_out(tmp_path: Path) -> None:
    folders = [
        "node_modules",
        "__pycache__",
        "venv",
        "site-packages",
        "build",
        "dist",
        ".tox",
        ".git",
    ]
    write_tree(tmp_path, {f"sub/{folder}/x.py": "" for folder in folders})
    write_tree(tmp_path, {"b.py": "", "a/z.py": "", "a/b/c.py": "", "builder/x.py": ""})

    seen = found(tmp_path)
    kept = [name for name, reason in seen.items() if not reason]
    assert kept == ["b.py", "a/z.py", "a/b/c.py", "builder/x.py"]
    assert {name: reason for name, reason in seen.items() if reason} == {
        "sub/.tox": "hidden", "sub/__pycache__": "ignored",
        "sub/build": "ignored", "sub/dist": "ignored", "sub/node_modules": "vendored",
        "sub/site-packages": "vendored", "sub/venv": "ignored",
    }  # fmt: skip


def test_without_git_a_repository_is_walked_like_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository", {"a.py": "", ".gitignore": "b.py\n"})
    write_tree(root, {"b.py": ""})
    monkeypatch.setenv("PATH", str(tmp_path))

    assert found(root) == {
        ".gitignore": "hidden", "a.py": "", "b.py": "ignored",
    }  # fmt: skip


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_links_are_never_followed(tmp_path: Path, with_git: bool) -> None:
    write_tree(tmp_path, {"outside/secret.py": "", "root/a.py": "", "root/sub/b.py": ""})
    root = tmp_path / "root"
    (root / "file").symlink_to("a.py")
    (root / "folder").symlink_to("sub")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / "sub" / "self").symlink_to(".")
    (root / "broken.py").symlink_to("nothing.py")
    if with_git:
        make_repository(root, {})
        assert "out.py" in git(root, "ls-files")

    links = ["file", "folder", "out", "out.py", "up", "loop", "sub/self", "broken.py"]
    assert found(root) == {"a.py": "", "sub/b.py": ""} | dict.fromkeys(links, "link")


def test_a_tracked_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    """Git still lists the files it knows below, and the link would lead to others."""
    write_tree(tmp_path, {"outside/b.py": "password = 1"})
    root = make_repository(tmp_path / "root", {"a.py": "", "sub/b.py": ""})
    (root / "sub" / "b.py").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(tmp_path / "outside")

    assert found(root) == {"a.py": "", "sub": "link"}


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".env", "looks like a secret"),
        (".env.production", "looks like a secret"),
        ("server.pem", "looks like a secret"),
        ("deploy.key", "looks like a secret"),
        ("id_rsa", "looks like a secret"),
        ("id_ed25519.pub", "looks like a secret"),
        (".netrc", "looks like a secret"),
        (".npmrc", "looks like a secret"),
        ("vault.kdbx", "looks like a secret"),
        (".ENV", "looks like a secret"),
        ("prod.env", "looks like a secret"),
        (".envrc", "looks like a secret"),
        ("AuthKey_AB12.p8", "looks like a secret"),
        ("Putty.PPK", "looks like a secret"),
        (".pgpass", "looks like a secret"),
        ("_netrc", "looks like a secret"),
        ("prod.tfvars", "looks like a secret"),
        ("prod.auto.tfvars.json", "looks like a secret"),
        ("terraform.tfstate", "looks like a secret"),
        (".git-credentials", "looks like a secret"),
        ("credentials", "looks like a secret"),
        ("Server.PEM", "looks like a secret"),
        ("prod.tfvars.example", ""),
        ("prod.env.SAMPLE", ""),
        ("env.py", ""),
        ("credentials.py", ""),
        ("variables.tf", ""),
        ("server.pem.example", ""),
        ("environment.py", ""),
        ("keys.py", ""),
        ("uv.lock", "generated"),
        ("package-lock.json", "generated"),
        ("app.min.js", "minified"),
        ("app.js.map", "generated"),
        ("app.js", ""),
    ],
)
def test_secrets_and_generated_files_are_told_apart_by_name(
    tmp_path: Path, name: str, reason: str, with_git: bool
) -> None:
    write_tree(tmp_path, {f"sub/{name}": "x"})
    if with_git:
        make_repository(tmp_path, {})

    assert found(tmp_path) == {f"sub/{name}": reason}
    assert list(walk_files(tmp_path / "sub" / name)) == list(walk_files(tmp_path))


@pytest.mark.parametrize("name", [".env.example", ".env.sample", ".env.template", ".env.dist"])
def test_an_example_of_a_secret_is_kept(tmp_path: Path, name: str) -> None:
    root = make_repository(tmp_path, {name: "TOKEN=\n"})

    assert found(root) == {name: ""}


def test_only_files_of_a_sensible_size_are_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"fits.txt": b"x" * MAX_BYTES, "huge.txt": b"x" * (MAX_BYTES + 1)})

    assert found(tmp_path) == {"fits.txt": "", "huge.txt": "larger than 2048 KiB"}


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_any_name_is_walked_and_one_that_is_not_utf8_is_told(
    tmp_path: Path, with_git: bool
) -> None:
    names = [
        b"new\nline.py",
        b"two words.py",
        b"\"quotes'.py",
        b"-rf.py",
        b"*.py",
        "é走.py".encode(),
    ]
    for name in (*names, b"\xff\xfe.py"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    if with_git:
        make_repository(tmp_path, {})

    assert found(tmp_path) == {os.fsdecode(name): "" for name in names} | {
        os.fsdecode(b"\xff\xfe.py"): "file name is not UTF-8"
    }


def test_a_single_file_is_taken_even_when_git_ignores_it(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {".gitignore": "*.log\n"})
    write_tree(root, {"x.log": "hello"})

    assert [file.path for file in walk_files(root / "x.log")] == [root / "x.log"]


def test_a_link_or_a_pipe_as_target_is_told(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": ""})
    (tmp_path / "link").symlink_to("a.py")
    os.mkfifo(tmp_path / "pipe")

    assert list(walk_files(tmp_path / "link")) == [Skipped(tmp_path / "link", "link")]
    assert list(walk_files(tmp_path / "pipe")) == [Skipped(tmp_path / "pipe", "special file")]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("nothing", id="missing"),
        pytest.param("a.py/below", id="below-a-file"),
        pytest.param("loop", id="link-to-itself"),
        pytest.param("n" * 300, id="too-long-a-name"),
        pytest.param("a\0b", id="impossible-name"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path, {"a.py": ""})
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(SourceError, match="There is no file or folder"):
        list(walk_files(tmp_path / name))


@pytest.fixture
def shut_folder() -> Iterator[Path]:
    """A folder with a file in it that nobody may look into, and a file beside it."""
    with tempfile.TemporaryDirectory() as name:
        root = write_tree(Path(name), {"a.py": "", "shut/b.py": ""})
        root.chmod(0o755)
        (root / "shut").chmod(0)
        yield root
        (root / "shut").chmod(0o700)


def test_a_folder_that_may_not_be_read_is_told(shut_folder: Path) -> None:
    with as_ordinary_user():
        files = found(shut_folder)

    assert files == {"a.py": "", "shut": "unreadable: Permission denied"}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which everybody may make files of their own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_files_that_git_tracks_in_a_shut_folder_are_told(open_folder: Path) -> None:
    with as_ordinary_user():
        root = make_repository(
            open_folder / "r", {"a.py": "", "shut/b.py": "", "shut/deep/er/c.py": ""}
        )
        (root / "shut").chmod(0)
        files = found(root)
        (root / "shut").chmod(0o700)

    reason = "unreadable: Permission denied"
    assert files == {"a.py": "", "shut/b.py": reason, "shut/deep/er/c.py": reason}


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_rules_that_cannot_be_read_are_an_error(open_folder: Path, with_git: bool) -> None:
    """Without them, what the user wants left out would be read."""
    files: dict[str, str | bytes] = {"a.py": "", "sub/b.py": "", "sub/.auroraignore": "b.py"}
    message = r"Cannot read .*/sub/\.auroraignore: Permission denied"
    with as_ordinary_user():
        root = (make_repository if with_git else write_tree)(open_folder / "r", files)
        (root / "sub" / ".auroraignore").chmod(0)
        with pytest.raises(SourceError, match=message):
            list(walk_files(root))


def test_a_path_that_may_not_be_looked_at_is_refused(shut_folder: Path) -> None:
    with as_ordinary_user(), pytest.raises(SourceError):
        list(walk_files(shut_folder / "shut" / "b.py"))


@pytest.mark.parametrize("outer", ["repository", "plain folder", "submodule"])
def test_a_repository_inside_is_walked_by_its_own_rules(tmp_path: Path, outer: str) -> None:
    root = write_tree(tmp_path / "outer", {"a.py": ""})
    make_repository(root / "inner", {"b.py": "", ".gitignore": "*.log\n", "c.log": ""})
    if outer != "plain folder":
        git(root, "init", "--quiet")
    if outer == "submodule":
        git(root, "submodule", "--quiet", "add", "./inner")

    assert {"a.py", "inner/b.py"} <= found(root).keys()
    assert "inner/c.log" not in found(root)


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file below so many folders. The cleaning up of pytest would nest as many calls."""
    top = tmp_path / "deep"
    top.mkdir()
    here, depth = os.open(top, os.O_RDONLY), 0

    def go(folder: str) -> None:
        nonlocal here
        inside = os.open(folder, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inside

    def make(levels: int) -> Path:
        nonlocal depth
        for depth in range(1, levels + 1):  # noqa: B007 - to be undone
            os.mkdir("d", dir_fd=here)
            go("d")
        os.close(os.open("x.py", os.O_CREAT, dir_fd=here))
        return top

    yield make
    os.unlink("x.py", dir_fd=here)
    for _ in range(depth):
        go("..")
        os.rmdir("d", dir_fd=here)
    os.close(here)


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_a_file_below_a_thousand_folders_is_found(
    deep: Callable[[int], Path], *, with_git: bool
) -> None:
    root = deep(1500)
    write_tree(root, {".auroraignore": "*.log\n"})
    if with_git:
        git(root, "init", "--quiet")
    assert found(root)["d/" * 1500 + "x.py"] == ""
    assert survey([root]).is_news(root / ("d/" * 1500 + "x.py"))


def test_a_path_that_is_longer_than_the_system_takes_is_told(
    deep: Callable[[int], Path],
) -> None:
    (reason,) = found(deep(3000)).values()
    assert reason == "unreadable: File name too long"
