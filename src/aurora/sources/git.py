"""The only module that runs git. The user's repository is never written to.

What must be written to ask a question (a tree to compare, the contents of a changed file) goes to
an object folder of the caller's, which borrows from the repository's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from aurora.errors import GitError, NoRepositoryError, SourceError

T = TypeVar("T")

_QUIET = (
    "-c", "core.quotepath=off",
    "-c", "core.fsmonitor=false",
    "-c", "safe.bareRepository=explicit",  # a clone can hold one in any of its folders
    # Two gits that replay Django's history would hold 740 MB; this way it is 170, as quickly.
    "-c", "core.packedGitLimit=32m",
    "-c", "core.packedGitWindowSize=8m",
    "-c", "core.deltaBaseCacheLimit=32m",
)  # fmt: skip
_SETTINGS = {
    "GIT_OPTIONAL_LOCKS": "0",  # no refreshed index is written back
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone is not completed over the network
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # messages are told apart by their words
}
# Variables with which a hook or a script names another repository than the folder's own, and
# those that would change what a difference looks like.
_ELSEWHERE = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE", "GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF", "LANGUAGE",
}  # fmt: skip
_ITS_OWN = {"local", "worktree"}  # where a setting of a repository can stand
_UNFILTERED = {"clean": "", "process": "", "required": "false"}
_BLOCK = 1 << 20
_SCRATCH = "aurora-git-"  # how the names of scratch folders begin


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder for new objects, and the objects of the repository that they build on."""

    objects: Path
    borrowed: str

    def sealed(self) -> Scratch:
        """For writing: where git sees an object that it has, it would renew that file's date."""
        return Scratch(self.objects, "")


@contextmanager
def open_scratch(folder: Path) -> Iterator[Scratch]:
    """Room for objects that are needed for a moment. It is gone afterwards."""
    answer = ask(folder, "rev-parse", "--git-path", "objects").removesuffix(b"\n")
    path = str(folder.absolute() / os.fsdecode(answer))
    quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as objects:
        _sweep(Path(objects))
        yield Scratch(Path(objects), f'"{quoted}"')


def _sweep(own: Path) -> None:
    """Remove what runs that were killed have left behind; no run takes a day."""
    with suppress(OSError):
        for other in own.parent.glob(f"{_SCRATCH}*"):
            if other.lstat().st_mtime < own.lstat().st_mtime - 86400:
                shutil.rmtree(other, ignore_errors=True)


def own_filters(folder: Path) -> list[str]:
    """The filters that a repository brings with it, as opposed to those of the user.

    Each is a program of the repository's choice. One that lies among the files, from an archive
    perhaps, must not get to run it because somebody indexes the folder above.
    """
    answer = ask(folder, "config", "--list", "--show-scope", "--name-only", "-z")
    words = list(map(os.fsdecode, answer.split(b"\0")[:-1]))
    names = {key for scope, key in zip(words[::2], words[1::2], strict=True) if scope in _ITS_OWN}
    return sorted({key.rpartition(".")[0] for key in names if key.startswith("filter.")})


def version() -> str:
    """Which git there is, in its own words."""
    folder = Path(tempfile.gettempdir())  # any that is there: no repository is asked
    return os.fsdecode(ask(folder, "--version")).strip().removeprefix("git version ")


def find_root(path: Path) -> Path | None:
    """The top of the work tree that holds a path, or nothing where there is none (or no git)."""
    folder = path if path.is_dir() else path.parent
    return _where_there_is_git(folder, work_tree)


def find_unasked_root(path: Path) -> Path | None:
    """The top of a repository that there is no git program to ask about."""
    return next(_with_git_folder(path), None) if shutil.which("git") is None else None


def work_tree(folder: Path) -> Path:
    """The top of the work tree that holds a folder."""
    answer = ask(folder, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(answer.removesuffix(b"\n")))


def list_files(folder: Path) -> list[str] | None:
    """Paths below a folder that git tracks or would add, or nothing outside a work tree."""
    return _where_there_is_git(folder, _listed)


def list_tracked(folder: Path, name: str) -> list[str]:
    """Paths that git tracks at or below a name in a folder; none outside a work tree."""

    def list_below(folder: Path) -> list[str]:
        answer = ask(folder, "ls-files", "-z", "--cached", "--", f"./{name}")
        return [os.fsdecode(path) for path in answer.split(b"\0") if path]

    return _where_there_is_git(folder, list_below) or []


def are_ignored(folder: Path, names: Collection[str]) -> bool:
    """Whether git leaves out all of these files below a folder; true outside a work tree."""
    ignored = _where_there_is_git(folder, lambda folder: find_ignored(folder, names))
    return ignored is None or ignored.issuperset(names)


def list_ignored_folders(folder: Path) -> set[str]:
    """Folders below a folder in which git would ignore any file."""
    words = ("--others", "--ignored", "--exclude-standard", "--directory")
    names = map(os.fsdecode, ask(folder, "ls-files", "-z", *words).split(b"\0"))
    # Listed are also those that only happen to hold nothing but ignored files.
    return find_ignored(folder, (name.removesuffix("/") for name in names if name.endswith("/")))


def find_ignored(folder: Path, names: Iterable[str]) -> set[str]:
    """Those of the names below a folder that git ignores, whether they are there or not."""
    # The dot keeps a name that begins with a colon from being read as a pattern.
    given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    answer = ask(folder, "check-ignore", "-z", "--stdin", given=given, fine=(0, 1))
    return {os.fsdecode(name).removeprefix("./") for name in answer.split(b"\0") if name}


def _listed(folder: Path) -> list[str]:
    answer = ask(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted({os.fsdecode(name) for name in answer.split(b"\0") if name})


def _where_there_is_git(folder: Path, question: Callable[[Path], T]) -> T | None:
    """An answer, or nothing without a repository or without git.

    A damaged or a stranger's repository is an error: without git's word, ignored files would be
    read and hidden ones forgotten.
    """
    try:
        return question(folder)
    except NoRepositoryError:
        return None
    except GitError as exc:
        if isinstance(exc.__cause__, OSError):
            return None  # git is not installed
        raise SourceError(
            f"git cannot tell which files of {folder} count: {exc.message}",
            hint="run `git status` there and do what it says",
        ) from exc


def ask(
    folder: Path,
    *arguments: str,
    given: bytes = b"",
    scratch: Scratch | None = None,
    fine: Collection[int] = (0,),
    unused: Sequence[str] = (),
) -> bytes:
    """Git's whole answer. With `scratch`, new objects are written there and nowhere else.

    `fine` are the exit statuses of an answer; every other one is a failure. `unused` are filters
    that are left out.
    """
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and a path, no shell
            ["git", *_QUIET, *arguments],  # noqa: S607 - the git the user has
            cwd=folder,
            env=_environment(scratch) | _without(unused),
            input=given,
            capture_output=True,
            check=False,
        )
    except OSError as exc:
        raise _cannot_start(folder, exc) from exc
    if done.returncode not in fine:
        _require_success(done.returncode, done.stderr)
    return done.stdout


def stream(
    folder: Path, *arguments: str, given: bytes = b"", scratch: Scratch | None = None
) -> Iterator[bytes]:
    """Git's answer in blocks that end at a line's end, for answers larger than memory should be."""
    with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as troubles:
        words.write(given)  # from a file: git may answer before it has read everything
        words.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603
                ["git", *_QUIET, *arguments],  # noqa: S607
                cwd=folder,
                env=_environment(scratch),
                stdin=words,
                stdout=subprocess.PIPE,
                stderr=troubles,
            )
        except OSError as exc:
            raise _cannot_start(folder, exc) from exc
        with process:
            try:
                yield from _blocks(process)
            except GeneratorExit:
                process.kill()
                raise
        troubles.seek(0)
        _require_success(process.returncode, troubles.read())


def _blocks(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    rest = b""
    while block := process.stdout.read(_BLOCK):
        whole, newline, tail = block.rpartition(b"\n")
        if newline:
            yield rest + whole + newline
            rest = tail
        else:
            rest += tail
    if rest:
        yield rest


def _environment(scratch: Scratch | None) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in _ELSEWHERE} | _SETTINGS
    if scratch is not None:
        environment["GIT_OBJECT_DIRECTORY"] = str(scratch.objects)
        environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = scratch.borrowed
    return environment


def _without(filters: Sequence[str]) -> dict[str, str]:
    """Settings as variables, after those that are there: a name may hold what `-c` would split."""
    pairs = [(f"{name}.{key}", value) for name in filters for key, value in _UNFILTERED.items()]
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    words = {"GIT_CONFIG_COUNT": str(first + len(pairs))} if pairs else {}
    for at, (key, value) in enumerate(pairs, start=first):
        words |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return words


def _cannot_start(folder: Path, exc: OSError) -> GitError:
    if not folder.is_dir():
        return NoRepositoryError(f"{folder} is not a folder")
    if any(_with_git_folder(folder)):
        return GitError(f"git cannot be run: {exc.strerror}", hint="install git")
    return NoRepositoryError(f"{folder} is not in a git repository, and there is no git")


def _with_git_folder(path: Path) -> Iterator[Path]:
    here = path.absolute()
    return (above for above in (here, *here.parents) if (above / ".git").exists())


def _require_success(status: int, words: bytes) -> None:
    if status == 0:
        return
    lines = os.fsdecode(words).strip().splitlines() or [f"git ended with status {status}"]
    fatal = (line for line in lines if line.startswith(("fatal: ", "error: ")))
    text = next(fatal, lines[-1]).removeprefix("fatal: ").removeprefix("error: ")
    if text.startswith(("not a git repository (or any", "this operation must be run in a work")):
        raise NoRepositoryError(text)
    raise GitError(text)
