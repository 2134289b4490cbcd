"""The only module that runs git. The user's repository is never written to.

What must be written to ask a question (a tree to compare, the contents of a changed file) goes to
an object folder of the caller's, which borrows from the repository's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from aurora.errors import (
    GitError,
    GitLimitError,
    GitStartError,
    NoRepositoryError,
    SourceError,
)
from aurora.files import lock, open_file

if sys.platform == "linux":
    import resource

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
_COMPLAINT = 1 << 16  # bytes at the end of git's complaints that are read
_NO_MEMORY = ("out of memory", "cannot allocate memory", "unable to generate diff")
_NO_REPOSITORY = (  # how git says so
    "not a git repository (or any",
    "this operation must be run in a work",
    "cannot use bare repository",
)
_SCRATCH = "aurora-git-"  # how the names of scratch folders begin
_LOCK = "lock"  # in a scratch folder: the run that uses the folder holds it


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call of git may use. A call that needs more is ended with `GitLimitError`."""

    seconds: float = 300.0
    memory: int = 1 << 30  # bytes of data. Only Linux can limit a process that already runs
    answer: int = 1 << 30  # bytes
    numbers: int = 50_000_000  # lines, hunks or paths that are held at once to replay a history


_DEFAULT = Limits()
# A history is worth less than the list of files: it becomes coarser instead.
HISTORY = Limits(seconds=120.0, answer=1 << 28)  # Django's longest call takes 14 seconds


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder for new objects, and the objects of the repository that they build on."""

    objects: Path
    borrowed: str

    def sealed(self) -> Scratch:
        """For writing: where git sees an object that it has, it would renew that file's date."""
        return Scratch(self.objects, "")


@contextmanager
def open_scratch(git: Git) -> Iterator[Scratch]:
    """Room for objects that are needed for a moment. It is gone afterwards."""
    answer = git.ask("rev-parse", "--git-path", "objects").removesuffix(b"\n")
    path = str(git.folder.absolute() / os.fsdecode(answer))
    quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as folder:
        _sweep(Path(folder))
        with _held(Path(folder)):
            yield Scratch(Path(folder), f'"{quoted}"')


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Mark a scratch folder as in use. The system releases the lock of a process that is killed."""
    new = folder / f"{_LOCK}.new"
    with open_file(new, "xb") as file:
        lock(file)
        if os.name != "nt":  # Windows renames no open file; there the age of a folder decides
            new.rename(folder / _LOCK)  # only now: a lock that no run holds yet would be swept
        yield


def _sweep(own: Path) -> None:
    """Remove the scratch folders of runs that were killed."""
    for other in own.parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if other != own and _is_left_over(other, now=own.lstat().st_mtime):
                shutil.rmtree(other, ignore_errors=True)


def _is_left_over(folder: Path, *, now: float) -> bool:
    """True when no run holds the folder's lock. Older versions made none: there its age decides."""
    try:
        with open_file(folder / _LOCK, "r+b") as file:
            lock(file)
    except FileNotFoundError:
        return folder.lstat().st_mtime < now - 3600
    except OSError:  # it is in use, or belongs to another user
        return False
    return True


def own_filters(git: Git) -> list[str]:
    """The filters that a repository brings with it, as opposed to those of the user.

    Each is a program of the repository's choice. One that lies among the files, from an archive
    perhaps, must not get to run it because somebody indexes the folder above.
    """
    answer = git.ask("config", "--list", "--show-scope", "--name-only", "-z")
    words = list(map(os.fsdecode, answer.split(b"\0")[:-1]))
    names = {key for scope, key in zip(words[::2], words[1::2], strict=True) if scope in _ITS_OWN}
    return sorted({key.rpartition(".")[0] for key in names if key.startswith("filter.")})


def version() -> str:
    """Which git there is, in its own words."""
    folder = Path(tempfile.gettempdir())  # any that is there: no repository is asked
    return os.fsdecode(Git(folder).ask("--version")).strip().removeprefix("git version ")


def find_root(path: Path) -> Path | None:
    """The top of the work tree that holds a path, or nothing where there is none (or no git)."""
    folder = path if path.is_dir() else path.parent
    return _where_there_is_git(folder, work_tree)


def find_unasked_root(path: Path) -> Path | None:
    """The top of a repository that there is no git program to ask about."""
    return next(_with_git_folder(path), None) if shutil.which("git") is None else None


def work_tree(git: Git) -> Path:
    """The top of the work tree that holds a folder."""
    answer = git.ask("rev-parse", "--show-toplevel")
    return Path(os.fsdecode(answer.removesuffix(b"\n")))


def list_files(folder: Path) -> list[str] | None:
    """Paths below a folder that git tracks or would add, or nothing outside a work tree."""
    return _where_there_is_git(folder, _listed)


def list_tracked(folder: Path, name: str) -> list[str]:
    """Paths that git tracks at or below a name in a folder; none outside a work tree."""

    def list_below(git: Git) -> list[str]:
        answer = git.ask("ls-files", "-z", "--cached", "--", f"./{name}")
        return [os.fsdecode(path) for path in answer.split(b"\0") if path]

    return _where_there_is_git(folder, list_below) or []


def are_ignored(folder: Path, names: Collection[str]) -> bool:
    """Whether git leaves out all of these files below a folder; true outside a work tree."""
    ignored = _where_there_is_git(folder, lambda git: find_ignored(git.folder, names))
    return ignored is None or ignored.issuperset(names)


def list_ignored_folders(folder: Path) -> set[str]:
    """Folders below a folder in which git would ignore any file."""
    words = ("--others", "--ignored", "--exclude-standard", "--directory")
    names = map(os.fsdecode, Git(folder).ask("ls-files", "-z", *words).split(b"\0"))
    # Listed are also those that only happen to hold nothing but ignored files.
    return find_ignored(folder, (name.removesuffix("/") for name in names if name.endswith("/")))


def find_ignored(folder: Path, names: Iterable[str]) -> set[str]:
    """Those of the names below a folder that git ignores, whether they are there or not."""
    # The dot keeps a name that begins with a colon from being read as a pattern.
    given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    answer = Git(folder).ask("check-ignore", "-z", "--stdin", given=given, fine=(0, 1))
    return {os.fsdecode(name).removeprefix("./") for name in answer.split(b"\0") if name}


def _listed(git: Git) -> list[str]:
    answer = git.ask("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted({os.fsdecode(name) for name in answer.split(b"\0") if name})


def _where_there_is_git(folder: Path, question: Callable[[Git], T]) -> T | None:
    """An answer, or nothing without a repository or without git.

    A damaged or a stranger's repository is an error: without git's word, ignored files would be
    read and hidden ones forgotten.
    """
    try:
        return question(Git(folder))
    except NoRepositoryError:
        return None
    except GitError as exc:
        if isinstance(exc.__cause__, OSError):
            return None  # git is not installed
        raise SourceError(
            f"git cannot tell which files of {folder} count: {exc.message}",
            hint="run `git status` there and do what it says",
        ) from exc


class Git:
    """Asks git about one folder, within limits. `notes` say why answers are coarser than asked."""

    def __init__(self, folder: Path, limits: Limits = _DEFAULT) -> None:
        self.folder, self.limits = folder, limits
        self.notes: dict[str, None] = {}  # a set that keeps its order

    def at(self, folder: Path) -> Git:
        """The same for another folder of the repository; the notes are shared."""
        other = Git(folder, self.limits)
        other.notes = self.notes
        return other

    def ask(
        self,
        *arguments: str,
        given: bytes = b"",
        scratch: Scratch | None = None,
        fine: Collection[int] = (0,),
        unused: Sequence[str] = (),
    ) -> bytes:
        """Git's whole answer. With `scratch`, new objects are written there and nowhere else.

        `fine` are the exit statuses of an answer; every other one is a failure. `unused` are
        filters that are left out.
        """
        environment = _environment(scratch) | _without(unused)
        blocks, size = [], 0
        for block in self._run(arguments, given, environment, fine):
            blocks.append(block)
            size += len(block)
            self._require_size(arguments, size)
        return b"".join(blocks)

    def stream(
        self, *arguments: str, given: bytes = b"", scratch: Scratch | None = None
    ) -> Iterator[bytes]:
        """The answer in blocks that end at a line's end, if it is larger than memory should be."""
        rest: list[bytes] = []  # of a line that has not ended yet
        for block in self._run(arguments, given, _environment(scratch), (0,)):
            whole, newline, tail = block.rpartition(b"\n")
            if newline:
                yield b"".join((*rest, whole, newline))
                rest.clear()
            rest.append(tail)
            self._require_size(arguments, sum(map(len, rest)))
        if any(rest):
            yield b"".join(rest)

    def _run(
        self,
        arguments: Sequence[str],
        given: bytes,
        environment: dict[str, str],
        fine: Collection[int],
    ) -> Iterator[bytes]:
        with ExitStack() as stack:
            late = threading.Event()
            try:
                complaints = stack.enter_context(tempfile.TemporaryFile())
                words = stack.enter_context(_as_file(given)) if given else subprocess.DEVNULL
                process = stack.enter_context(
                    subprocess.Popen(  # noqa: S603 - fixed words and a path, no shell
                        ["git", *_QUIET, *arguments],  # noqa: S607 - the git the user has
                        cwd=self.folder,
                        env=environment,
                        stdin=words,
                        stdout=subprocess.PIPE,
                        stderr=complaints,
                    )
                )
                stack.callback(process.kill)  # does nothing once it has ended
                self._limit(process, late, stack)
            except (OSError, RuntimeError) as exc:  # the latter where no thread can be started
                raise _cannot_start(self.folder, exc) from exc
            assert process.stdout is not None  # noqa: S101 - it was asked for
            while block := process.stdout.read(_BLOCK):
                yield block
            status = process.wait()
            if late.is_set():
                raise GitLimitError(
                    f"git {_name(arguments)} took longer than {self.limits.seconds:g} seconds"
                )
            self._look_into(complaints, arguments, failed=status not in fine, status=status)

    def _limit(
        self, process: subprocess.Popen[bytes], late: threading.Event, stack: ExitStack
    ) -> None:
        def end() -> None:
            late.set()
            process.kill()

        if sys.platform == "linux":
            with suppress(OSError):  # it has ended already, or has a lower limit
                most = self.limits.memory
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (most, most))
        timer = threading.Timer(self.limits.seconds, end)
        timer.daemon = True
        timer.start()
        stack.callback(timer.cancel)

    def _look_into(
        self, complaints: IO[bytes], arguments: Sequence[str], *, failed: bool, status: int
    ) -> None:
        complaints.seek(max(complaints.seek(0, os.SEEK_END) - _COMPLAINT, 0))
        words = os.fsdecode(complaints.read()).strip()
        if failed and any(word in words.lower() for word in _NO_MEMORY):
            most = self.limits.memory >> 20
            raise GitLimitError(f"git {_name(arguments)} needs more than {most} MiB of memory")
        if failed:
            raise _failure(status, words)
        if "rename detection was skipped" in words:
            self.notes["a commit renames more files than git compares"] = None

    def _require_size(self, arguments: Sequence[str], size: int) -> None:
        if size > self.limits.answer:
            most = self.limits.answer >> 20
            raise GitLimitError(f"git {_name(arguments)} answers with more than {most} MiB")


def _name(arguments: Sequence[str]) -> str:
    """The command among the words that git is given; options may come before it."""
    return next((word for word in arguments if not word.startswith("-")), arguments[0])


def _as_file(given: bytes) -> IO[bytes]:
    """What git reads. From a file: git may answer before it has read everything."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    file.write(given)
    file.seek(0)
    return file


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


def _cannot_start(folder: Path, exc: OSError | RuntimeError) -> SourceError:
    if not folder.is_dir():
        return NoRepositoryError(f"{folder} is not a folder")
    if not isinstance(exc, FileNotFoundError) or shutil.which("git") is not None:
        return GitStartError(
            f"git cannot be started in {folder}: {getattr(exc, 'strerror', None) or exc}",
            hint="free memory, processes or open files (see `ulimit -a`), then try again",
        )
    if any(_with_git_folder(folder)):
        return GitError(f"git cannot be run: {exc.strerror}", hint="install git")
    return NoRepositoryError(f"{folder} is not in a git repository, and there is no git")


def _with_git_folder(path: Path) -> Iterator[Path]:
    here = path.absolute()
    return (above for above in (here, *here.parents) if (above / ".git").exists())


def _failure(status: int, words: str) -> GitError:
    lines = words.splitlines() or [f"git ended with status {status}"]
    fatal = (line for line in lines if line.startswith(("fatal: ", "error: ")))
    text = next(fatal, lines[-1]).removeprefix("fatal: ").removeprefix("error: ")
    if text.startswith(_NO_REPOSITORY):
        return NoRepositoryError(text)
    return GitError(text)
