"""The only module that runs git. It never writes to the user's repository.

New objects, such as trees to compare, go to a scratch object folder that borrows from the
repository's own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from aurora.errors import GitError, GitLimitError, GitStartError, NoRepositoryError, SourceError
from aurora.platforms import limit_memory
from aurora.quick_classes import NamedTuple, dataclass

if TYPE_CHECKING:
    import subprocess

T = TypeVar("T")

_OPTIONS = (
    "-c", "core.quotepath=off",
    "-c", "core.fsmonitor=false",
    "-c", "safe.bareRepository=explicit",  # a clone can hold one in any folder
    # Two gits that replay Django's history hold 170 MB instead of 740, at the same speed.
    "-c", "core.packedGitLimit=32m",
    "-c", "core.packedGitWindowSize=8m",
    "-c", "core.deltaBaseCacheLimit=32m",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # git does not write back a refreshed index
    "GIT_NO_LAZY_FETCH": "1",  # git does not complete a partial clone
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",  # messages are recognised by their words
}
# Variables by which a hook or script names another repository, and those that change diffs.
_REMOVED = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE", "GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF", "LANGUAGE",
}  # fmt: skip
_OWN_SCOPES = {"local", "worktree"}  # of settings that a repository brings
_UNFILTERED = {"clean": "", "process": "", "required": "false"}
_BLOCK = 1 << 20
_MAX_STDERR = 1 << 16  # bytes read from the end of git's error output
_NO_MEMORY = ("out of memory", "cannot allocate memory", "unable to generate diff")
_NO_REPOSITORY = (  # git's messages
    "not a git repository (or any",
    "this operation must be run in a work",
    "cannot use bare repository",
)
_SCRATCH = "aurora-git-"  # prefix of scratch folders
_SCRATCH_AGE = 86_400  # seconds; each git call of a replay ends within `HISTORY.seconds`


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one git call. A call that exceeds one ends with `GitLimitError`."""

    seconds: float = 300.0
    memory: int = 1 << 30  # bytes of data; only on Linux
    answer: int = 1 << 30  # bytes of output
    numbers: int = 50_000_000  # lines, hunks or paths held at once by a replay


_DEFAULT = Limits()
# Lower than for the list of files: a history can become coarser instead.
HISTORY = Limits(seconds=120.0, answer=1 << 28)  # Django's longest call takes 14 seconds


class Git:
    """Runs git in one folder, within limits. `notes` tell why results are coarser than usual."""

    def __init__(self, folder: Path, limits: Limits = _DEFAULT) -> None:
        self.folder, self.limits = folder, limits
        self.notes: dict[str, None] = {}  # a set that keeps its order

    def at(self, folder: Path) -> Git:
        """Return the same for another folder of the repository; the notes are shared."""
        other = Git(folder, self.limits)
        other.notes = self.notes
        return other

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        scratch: Scratch | None = None,
        fine: Collection[int] = (0,),
        unused: Sequence[str] = (),
    ) -> bytes:
        """Return git's whole output. With `scratch`, new objects are only written there.

        `fine` are the exit statuses of success. `unused` are filters to switch off.
        """
        environment = _environment(scratch) | _without(unused)
        blocks, size = [], 0
        for block in self._start(arguments, given, environment, fine):
            blocks.append(block)
            size += len(block)
            self._require_size(arguments, size)
        return b"".join(blocks)

    def stream(
        self, *arguments: str, given: bytes = b"", scratch: Scratch | None = None
    ) -> Iterator[bytes]:
        """Yield git's output in blocks of whole lines, for output that is too large for memory."""
        rest: list[bytes] = []  # of an unfinished line
        for block in self._start(arguments, given, _environment(scratch), (0,)):
            whole, newline, tail = block.rpartition(b"\n")
            if newline:
                yield b"".join((*rest, whole, newline))
                rest.clear()
            rest.append(tail)
            self._require_size(arguments, sum(map(len, rest)))
        if any(rest):
            yield b"".join(rest)

    def _start(
        self,
        arguments: Sequence[str],
        given: bytes,
        environment: dict[str, str],
        fine: Collection[int],
    ) -> Iterator[bytes]:
        import subprocess  # noqa: PLC0415 - a start that runs no git should not wait for them
        import tempfile  # noqa: PLC0415

        with ExitStack() as stack:
            timed_out = threading.Event()
            try:
                stderr = stack.enter_context(tempfile.TemporaryFile())
                # A file, not a pipe: git may write output before it has read all input.
                stdin = stack.enter_context(tempfile.TemporaryFile())
                stdin.write(given)
                stdin.seek(0)
                process = stack.enter_context(
                    subprocess.Popen(  # noqa: S603 - fixed arguments and a path, no shell
                        ["git", *_OPTIONS, *arguments],  # noqa: S607 - the user's git
                        cwd=self.folder,
                        env=environment,
                        stdin=stdin,
                        stdout=subprocess.PIPE,
                        stderr=stderr,
                    )
                )
                stack.callback(process.kill)  # does nothing after its end
                self._limit(process, timed_out, stack)
            except (OSError, RuntimeError) as exc:  # the latter: no thread can be started
                raise _start_error(self.folder, exc) from exc
            assert process.stdout is not None  # noqa: S101 - because of PIPE
            while block := process.stdout.read(_BLOCK):
                yield block
            status = process.wait()
            if timed_out.is_set():
                raise self._exceeded(arguments, f"took longer than {self.limits.seconds:g} seconds")
            words = _read_end(stderr)
            if status not in fine:
                if any(word in words.lower() for word in _NO_MEMORY):
                    raise self._exceeded(
                        arguments, f"needs more than {self.limits.memory >> 20} MiB of memory"
                    )
                raise _failure(status, words)
            if "rename detection was skipped" in words:
                self.notes["a commit renames more files than git compares"] = None

    def _limit(
        self, process: subprocess.Popen[bytes], timed_out: threading.Event, stack: ExitStack
    ) -> None:
        def end() -> None:
            timed_out.set()
            process.kill()

        limit_memory(process.pid, self.limits.memory)
        timer = threading.Timer(self.limits.seconds, end)
        timer.daemon = True
        timer.start()
        stack.callback(timer.cancel)

    def _require_size(self, arguments: Sequence[str], size: int) -> None:
        if size > self.limits.answer:
            most = self.limits.answer >> 20
            raise self._exceeded(arguments, f"answers with more than {most} MiB")

    @staticmethod
    def _exceeded(arguments: Sequence[str], what: str) -> GitLimitError:
        command = next((word for word in arguments if not word.startswith("-")), arguments[0])
        return GitLimitError(f"git {command} {what}")


def _read_end(stderr: IO[bytes]) -> str:
    stderr.seek(max(stderr.seek(0, os.SEEK_END) - _MAX_STDERR, 0))
    return os.fsdecode(stderr.read()).strip()


def _environment(scratch: Scratch | None) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in _REMOVED} | _ENVIRONMENT
    if scratch is not None:
        environment["GIT_OBJECT_DIRECTORY"] = str(scratch.objects)
        environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = scratch.borrowed
    return environment


def _without(filters: Sequence[str]) -> dict[str, str]:
    """Switch filters off by variables, after those already set: `-c` would split some names."""
    pairs = [(f"{name}.{key}", value) for name in filters for key, value in _UNFILTERED.items()]
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    words = {"GIT_CONFIG_COUNT": str(first + len(pairs))} if pairs else {}
    for at, (key, value) in enumerate(pairs, start=first):
        words |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return words


def is_installed() -> bool:
    from shutil import which  # noqa: PLC0415 - as above

    return which("git") is not None


def _start_error(folder: Path, exc: OSError | RuntimeError) -> SourceError:
    if not folder.is_dir():
        return NoRepositoryError(f"{folder} is not a folder")
    if not isinstance(exc, FileNotFoundError) or is_installed():
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


# Scratch folders for objects


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder for new objects, and the repository's objects that they build on."""

    objects: Path
    borrowed: str


@contextmanager
def open_scratch(git: Git) -> Iterator[Scratch]:
    """Provide a temporary object folder."""
    output = git.run("rev-parse", "--git-path", "objects").removesuffix(b"\n")
    path = str(git.folder.absolute() / os.fsdecode(output))
    quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - as above

    with TemporaryDirectory(prefix=_SCRATCH) as folder:
        _remove_abandoned(Path(folder))
        yield Scratch(Path(folder), f'"{quoted}"')


def _remove_abandoned(own: Path) -> None:
    """Remove the scratch folders of killed runs. None is in use for as long as this."""
    from shutil import rmtree  # noqa: PLC0415 - as above

    for other in own.parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if other.lstat().st_mtime < own.lstat().st_mtime - _SCRATCH_AGE:
                rmtree(other, ignore_errors=True)


# Queries


def own_filters(git: Git) -> list[str]:
    """List the filters that a repository's own settings define.

    Each runs a program of the repository's choice. Indexing a folder must not run the programs of
    a repository inside it, which may come from an archive.
    """
    output = git.run("config", "--list", "--show-scope", "--name-only", "-z")
    words = map(os.fsdecode, output.split(b"\0")[:-1])
    names = {key for scope, key in zip(words, words, strict=True) if scope in _OWN_SCOPES}
    return sorted({key.rpartition(".")[0] for key in names if key.startswith("filter.")})


def version() -> str:
    """Return the version of git."""
    any_folder = Path(os.sep)
    return os.fsdecode(Git(any_folder).run("--version")).strip().removeprefix("git version ")


def find_root(path: Path) -> Path | None:
    """Return the top of the work tree that holds a path; None without a work tree or git."""
    return _if_repository(path if path.is_dir() else path.parent, work_tree)


def find_unasked_root(path: Path) -> Path | None:
    """Return the top of a repository when git is not installed; None when it is."""
    return next(_with_git_folder(path), None) if not is_installed() else None


def work_tree(git: Git) -> Path:
    """Return the top of the work tree that holds a folder."""
    return Path(os.fsdecode(git.run("rev-parse", "--show-toplevel").removesuffix(b"\n")))


def find_user(folder: Path) -> str:
    """Return the name that git writes into commits; empty if none is set."""
    name = _if_repository(folder, lambda git: git.run("config", "user.name", fine=(0, 1)))
    return (name or b"").decode("utf-8", "replace").strip()


def list_files(folder: Path) -> list[str] | None:
    """List the paths below a folder that git tracks or would add; None outside a work tree."""
    words = ("--cached", "--others", "--exclude-standard")
    return _if_repository(folder, lambda git: sorted(set(_ls_files(git, *words))))


def list_tracked(folder: Path, name: str) -> list[str]:
    """List the paths that git tracks at or below a name; none outside a work tree."""
    words = ("--cached", "--", f"./{name}")
    return _if_repository(folder, lambda git: _ls_files(git, *words)) or []


class Change(NamedTuple):
    """A commit: the first line of its message, and the paths that it changed."""

    subject: str
    paths: tuple[str, ...]


def list_changes(folder: Path, most: int) -> list[Change] | None:
    """List the newest commits without merges, with their paths below a folder, relative to it.

    None outside a work tree. A commit without such paths is left out.
    """
    return _if_repository(folder, lambda git: _read_changes(git, most))


def _read_changes(git: Git, most: int) -> list[Change]:
    words = ("--no-merges", "--no-renames", "--relative", "--name-only", "--format=%x01%s%x02")
    try:
        output = git.run("log", "-z", f"--max-count={most}", *words, "--", ".")
    except GitError:
        if git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", fine=(0, 1)):
            raise
        return []  # there is no commit yet
    changes = []
    for entry in output.split(b"\x01")[1:]:
        subject, _, names = entry.partition(b"\x02")
        paths = tuple(os.fsdecode(name) for name in names.strip(b"\0\n").split(b"\0") if name)
        changes.append(Change(subject.decode("utf-8", "replace"), paths))
    return [change for change in changes if change.paths]


def list_uncommitted(folder: Path) -> list[str] | None:
    """List the files below a folder that differ from the last commit, also new ones that git would
    add, relative to it. None outside a work tree."""
    return _if_repository(folder, _read_uncommitted)


def _read_uncommitted(git: Git) -> list[str]:
    words = ("--modified", "--deleted", "--others", "--exclude-standard", "-z")
    unused = own_filters(git)
    outputs = (
        git.run("ls-files", *words, unused=unused),
        git.run("diff", "--cached", "--name-only", "--no-renames", "--relative", "-z"),
    )
    names = {name for output in outputs for name in output.split(b"\0") if name}
    return sorted(map(os.fsdecode, names))


def are_ignored(folder: Path, names: Collection[str]) -> bool:
    """True when git ignores all of these files below a folder; true outside a work tree."""
    ignored = _if_repository(folder, lambda git: find_ignored(git.folder, names))
    return ignored is None or ignored.issuperset(names)


def list_ignored_folders(folder: Path) -> set[str]:
    """List the folders below a folder in which git would ignore any file."""
    names = _ls_files(Git(folder), "--others", "--ignored", "--exclude-standard", "--directory")
    # The list also has folders that merely hold nothing but ignored files.
    return find_ignored(folder, (name.removesuffix("/") for name in names if name.endswith("/")))


def find_ignored(folder: Path, names: Iterable[str]) -> set[str]:
    """Return the names below a folder that git ignores, whether they exist or not."""
    # Without the dot, a name that begins with a colon would be a pattern.
    given = b"".join(b"./" + os.fsencode(name) + b"\0" for name in names)
    output = Git(folder).run("check-ignore", "-z", "--stdin", given=given, fine=(0, 1))
    return {os.fsdecode(name).removeprefix("./") for name in output.split(b"\0") if name}


def _ls_files(git: Git, *words: str) -> list[str]:
    return [os.fsdecode(name) for name in git.run("ls-files", "-z", *words).split(b"\0") if name]


def _if_repository(folder: Path, call: Callable[[Git], T]) -> T | None:
    """Return the result of a call, or None without a repository or without git.

    A damaged or foreign repository is an error: without git, ignored files would be read and
    hidden ones forgotten.
    """
    try:
        return call(Git(folder))
    except NoRepositoryError:
        return None
    except GitError as exc:
        if isinstance(exc.__cause__, OSError):
            return None  # git is not installed
        raise SourceError(
            f"git cannot tell which files of {folder} count: {exc.message}",
            hint="run `git status` there and do what it says",
        ) from exc
