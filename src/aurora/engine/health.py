"""Whether everything is well: the program, its optional parts, the memory and the settings.

A check is a small function that yields findings; each area has a table of them. A check that goes
wrong is a finding, too: an examination always comes to its end. It changes nothing.

How a table of checks is carried out.

The embedder: who the settings choose, whether it works, and whose vectors the memory has.

The language model: whether what the settings want of it could be asked for. Nobody is asked.

What Aurora can use, and can do without: one row a part.

A part that is to come is one row more in `PARTS`.

The program itself, and what it stands on.

The settings: which files there are, what they say, and what of it is not heard.

What lies around a memory: who may read it, what else is in its folder, and room to grow.

The memory: where it is, whether it can be used, and whether all that is in it is whole.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias, TypeVar

from aurora.config import LoadedSettings, Settings, SettingsFiles
from aurora.config.load import as_typed, value_of, without_password, without_secrets
from aurora.config.places import shown
from aurora.config.schema import CATALOGUE
from aurora.engine.location import SqliteLocation, shown_name
from aurora.engine.memory import Memory
from aurora.errors import (
    AuroraError,
    ConfigError,
    LlmError,
    NoMemoryError,
    StoreError,
    StoreFormatError,
)
from aurora.files import require_own
from aurora.stores.sqlite.connection import SQLiteLibrary, describe_library, schema_of
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.types import (
    Finding,
    IndexCheck,
    IndexState,
    Level,
    Listener,
    Note,
    ignore_events,
)

__all__ = ["OnlyDefaults", "examine_memory", "examine_parts", "examine_program", "examine_settings"]

logger = logging.getLogger(__name__)


Subject = TypeVar("Subject")
Check: TypeAlias = Callable[[Subject], Iterable[Finding]]


def carry_out(
    checks: Iterable[Check[Subject]], subject: Subject, *, area: str
) -> Iterator[Finding]:
    """The findings of all checks; one that cannot be carried out has failed."""
    for check in checks:
        try:
            yield from check(subject)
        except AuroraError as exc:
            yield Finding(Level.FAIL, area, exc.message, exc.hint)
        except Exception as exc:  # whatever is broken, the other checks are worth having
            logger.exception("%s", check.__name__)
            name = check.__name__.strip("_").replace("_", " ")
            yield Finding(Level.FAIL, area, f"{name} could not be checked: {exc!r}")


MEMORY_AREA = "memory"


def examine_embedder(memory: Memory) -> Iterator[Finding]:
    """One text is embedded, unless that would send it away."""
    provider = memory.settings.embedding.provider
    if provider == "none":
        text = "Embedder: none, as the settings say; search goes by words and use"
        yield Finding(
            Level.NOTE, MEMORY_AREA, text, "unset `embedding.provider` to use the bundled model"
        )
        return
    try:
        found = memory.try_embedder()
    except ConfigError:
        raise
    except AuroraError as exc:
        yield Finding(Level.WARN, MEMORY_AREA, f"Embedder {provider}: {exc.message}", exc.hint)
        return
    works = f"{found.dimension} dimensions" if found.dimension else "not asked: it is elsewhere"
    yield Finding(Level.OK, MEMORY_AREA, f"Embedder: {found.name} ({works})")


def compare_embedders(memory: Memory) -> Iterator[Finding]:
    """Of a memory that can be opened."""
    owner, chosen = memory.vectors_of(), memory.chosen_embedder()
    if owner is not None and chosen and owner.name != chosen:
        text = f"The vectors are of {owner.name}, not of {chosen}, which the settings choose"
        yield Finding(Level.NOTE, MEMORY_AREA, text, "`aur mem reembed` makes them anew")


def examine_llm(memory: Memory) -> Iterator[Finding]:
    """Nothing to say where no setting wants one."""
    search = memory.settings.search
    if not search.expand and search.rerank.by != "llm":
        return
    try:
        name = memory.check_llm()
    except LlmError as exc:
        yield Finding(Level.WARN, MEMORY_AREA, f"Language model: {exc.message}", exc.hint)
    else:
        yield Finding(Level.OK, MEMORY_AREA, f"Language model: {name} (not asked: it is elsewhere)")


PARTS_AREA = "parts"


@dataclass(frozen=True, slots=True)
class Part:
    """`find` tells which version is there, and raises when it cannot be used."""

    name: str
    use: str
    find: Callable[[], str]
    hint: str
    missing: Level = Level.NOTE  # how bad it is to do without


def examine_parts() -> Iterator[Finding]:
    return carry_out(PART_CHECKS, PARTS, area=PARTS_AREA)


def _parts(parts: tuple[Part, ...]) -> Iterator[Finding]:
    for part in parts:
        try:
            found = part.find()
        except Exception as exc:  # not there, or broken in whatever way
            reason = exc.message if isinstance(exc, AuroraError) else str(exc)
            text = f"{part.name}: missing, for {part.use} ({reason})"
            yield Finding(part.missing, PARTS_AREA, text, part.hint)
        else:
            yield Finding(Level.OK, PARTS_AREA, f"{part.name} {found}, for {part.use}")


def _grammars(_: tuple[Part, ...]) -> Iterator[Finding]:
    from aurora.parsers.code import TreeMaker  # noqa: PLC0415
    from aurora.parsers.languages import GRAMMARS  # noqa: PLC0415

    grammars = {grammar.language: grammar for grammar in GRAMMARS.values()}
    whole = 0
    for language, grammar in grammars.items():
        try:
            TreeMaker(grammar)
        except Exception as exc:  # a wheel of another version fails in its own way
            package = grammar.module.replace("_", "-")
            text = f"The grammar of {language} cannot be loaded: {exc}"
            hint = f"pip install --force-reinstall {package}; until then its files are cut by lines"
            yield Finding(Level.WARN, PARTS_AREA, text, hint)
        else:
            whole += 1
    if whole:
        text = f"tree-sitter {version('tree-sitter')} with the grammars of {whole} languages"
        yield Finding(Level.OK, PARTS_AREA, text)


def _git() -> str:
    from aurora.sources.git import version as git_version  # noqa: PLC0415

    return git_version()


def _watchfiles() -> str:
    from aurora.sources.watch import require_watchfiles  # noqa: PLC0415

    require_watchfiles()
    return _version("watchfiles")


def _installed(package: str) -> str:
    require_package(package)
    return _version(package)


def require_package(name: str) -> None:
    """Raise if it is not there; what takes long to import is not."""
    if find_spec(name) is None:
        raise ModuleNotFoundError(f"No module named {name!r}")


def _numpy() -> str:
    import numpy  # noqa: ICN001, PLC0415

    return numpy.__version__


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


PARTS = (
    Part(
        "git",
        "knowing which files count and which commits changed them",
        _git,
        "install git, then run `aur mem index`",
        Level.WARN,
    ),
    Part(
        "numpy",
        "building the keyword index, and further questions to one",
        _numpy,
        "pip install numpy; without it nothing can be indexed",
        Level.FAIL,
    ),
    Part(
        "watchfiles",
        "`aur mem watch`",
        _watchfiles,
        "pip install 'aurora-memory[watch]'",
    ),
    Part(
        "onnxruntime",
        "transformer models and `--rerank local`",
        partial(_installed, "onnxruntime"),
        "pip install 'aurora-memory[onnx]'",
    ),
    Part(
        "httpx2",
        "embeddings and language models of an endpoint",
        partial(_installed, "httpx2"),
        "pip install 'aurora-memory[openai]'",
    ),
    Part(
        "mcp",
        "`aur mcp`, the server for agents",
        partial(_installed, "mcp"),
        "pip install 'aurora-memory[mcp]'",
    ),
    Part(
        "psycopg",
        "a memory on a PostgreSQL server",
        partial(_installed, "psycopg"),
        "pip install 'aurora-memory[postgres]'",
    ),
    Part(
        "ray",
        "embedding on several machines",
        partial(_installed, "ray"),
        "pip install 'aurora-memory[ray]'",
    ),
)
PART_CHECKS: tuple[Check[tuple[Part, ...]], ...] = (_parts, _grammars)


PROGRAM_AREA = "program"


def examine_program() -> Iterator[Finding]:
    return carry_out(PROGRAM_CHECKS, None, area=PROGRAM_AREA)


def _versions(_: None) -> Iterator[Finding]:
    yield Finding(Level.OK, PROGRAM_AREA, f"Aurora {version('aurora-memory')}")
    yield Finding(Level.OK, PROGRAM_AREA, f"Python {platform.python_version()} ({sys.executable})")


def _system(_: None) -> Iterator[Finding]:
    yield Finding(Level.OK, PROGRAM_AREA, platform.platform())


def _sqlite(_: None) -> Iterator[Finding]:
    yield judge_library(describe_library())


def judge_library(library: SQLiteLibrary) -> Finding:
    """Whether a memory can be made with it."""
    missing = [
        name
        for name, there in (("FTS5", library.has_fts5), ("trigrams", library.has_trigrams))
        if not there
    ]
    if not missing:
        return Finding(Level.OK, PROGRAM_AREA, f"SQLite {library.version} with FTS5 and trigrams")
    text = f"SQLite {library.version} without {' and '.join(missing)}: no memory can be made"
    return Finding(
        Level.FAIL, PROGRAM_AREA, text, "use a Python with SQLite 3.34 or newer, built with FTS5"
    )


PROGRAM_CHECKS: tuple[Check[None], ...] = (_versions, _system, _sqlite)


SETTINGS_AREA = "settings"
_GO_ON = "until then other commands refuse, and the memory is checked with the defaults"


class OnlyDefaults(SettingsFiles):
    """Settings as if nobody had set anything: for a memory whose settings cannot be read."""

    __slots__ = ()

    def current(self) -> LoadedSettings:
        return LoadedSettings(Settings())


def examine_settings(files: SettingsFiles) -> Iterator[Finding]:
    return carry_out(SETTINGS_CHECKS, files, area=SETTINGS_AREA)


def _files(files: SettingsFiles) -> Iterator[Finding]:
    places = files.places
    for name, file in (("Project", places.project_config), ("User", places.user_config)):
        if file is not None:
            there = "" if _is_there(file) else " (not there: defaults)"
            yield Finding(Level.OK, SETTINGS_AREA, f"{name} file: {shown(file)}{there}")


def _is_there(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # a folder that may not be looked into; reading it says so
        return True


def _values(files: SettingsFiles) -> Iterator[Finding]:
    """Every value, and who set it."""
    try:
        loaded = files.current()
    except ConfigError as exc:
        hint = f"{exc.hint}; {_GO_ON}" if exc.hint else _GO_ON
        yield Finding(Level.FAIL, SETTINGS_AREA, without_secrets(exc.message), hint)
        return
    for warning in loaded.warnings:
        yield Finding(Level.WARN, SETTINGS_AREA, warning)
    for key in CATALOGUE:
        value = without_secrets(without_password(as_typed(value_of(loaded.settings, key))))
        origin = loaded.origins.get(key, "default")
        yield Finding(Level.OK, SETTINGS_AREA, f"{key} = {value}  ({origin})")


SETTINGS_CHECKS: tuple[Check[SettingsFiles], ...] = (_files, _values)


_READ = stat.S_IRGRP | stat.S_IROTH
_ENTER = stat.S_IXGRP | stat.S_IXOTH
_SPARE = 256 << 20  # bytes that should stay free, beside room for as much as there is
_OURS = (".gitignore", "config.yml", "config.yml.*.tmp", "indexes", "logs", "approved.json",
         "approved.json.*.tmp", "models", ".DS_Store")  # fmt: skip
_INDEXES = ("llm", "bm25.idx", "vectors.idx", "*.idx.*.tmp", "history-*.book", "history-*.tmp")
_SHOWN_FILES = 5  # strangers named


def is_there(path: Path) -> bool:
    """False also for what may not be looked at."""
    try:
        return path.exists()
    except OSError:
        return False


def _readers(memory: Memory) -> Iterator[Finding]:
    """On Windows, modes say nothing about others."""
    path = memory.path
    if os.name != "posix" or not is_there(path):
        return
    mode, folder = path.stat().st_mode, path.parent.stat().st_mode
    if mode & _READ and folder & _ENTER:
        text = f"Other users of this machine can read {shown(path)}"
        yield Finding(Level.WARN, MEMORY_AREA, text, f"chmod 700 {shown(path.parent)}")


def _writing(memory: Memory) -> Iterator[Finding]:
    path = memory.path
    if is_there(path) and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        text = f"{shown(path.parent)} cannot be written: nothing can be added to the memory"
        yield Finding(
            Level.WARN, MEMORY_AREA, text, "check who owns it and how the disk is mounted"
        )


def _strangers(memory: Memory) -> Iterator[Finding]:
    """Only in a folder of our own: a database may be anywhere."""
    path, folder = memory.path, memory.places.memory_folder
    if path.parent != folder or not is_there(path):
        return
    ours = (*_OURS, path.name, f"{path.name}-*")
    found = [*_others(folder, ours), *_others(folder / "indexes", _INDEXES)]
    if found:
        names = ", ".join(file.relative_to(folder).as_posix() for file in found[:_SHOWN_FILES])
        more = f" and {len(found) - _SHOWN_FILES:,} more" if len(found) > _SHOWN_FILES else ""
        text = f"Files in {shown(folder)} that Aurora did not make: {names}{more}"
        yield Finding(
            Level.NOTE, MEMORY_AREA, text, "they do no harm; move them if they are of no use"
        )


def _others(folder: Path, known: tuple[str, ...]) -> list[Path]:
    try:
        files = sorted(folder.iterdir())
    except OSError:  # not there, no folder, or shut: others tell of that
        return []
    return [file for file in files if not any(fnmatchcase(file.name, name) for name in known)]


def _space(memory: Memory) -> Iterator[Finding]:
    path = memory.path
    if is_there(path):
        yield from judge_space(shutil.disk_usage(path.parent).free, path.stat().st_size)


def judge_space(free: int, size: int) -> Iterator[Finding]:
    """Told only when it is low: an index run may need as much again as there is."""
    if free < size + _SPARE:
        text = f"The memory's disk has only {free / 2**20:,.0f} MiB left"
        hint = f"free some space: indexing may need {(size + _SPARE) / 2**20:,.0f} MiB"
        yield Finding(Level.WARN, MEMORY_AREA, text, hint)


def _log(memory: Memory) -> Iterator[Finding]:
    home = memory.places.home
    file = home / "logs" / "aurora.log"
    if is_there(home) and not (home.is_dir() and os.access(home, os.W_OK)):
        text = f"The log {shown(file)} cannot be written"
        yield Finding(Level.WARN, MEMORY_AREA, text, "set AURORA_HOME to a folder of yours")
    else:
        there = "" if is_there(file) else " (nothing to say yet)"
        yield Finding(Level.OK, MEMORY_AREA, f"Log: {shown(file)}{there}")


SURROUNDINGS: tuple[Check[Memory], ...] = (
    examine_embedder, examine_llm, _readers, _writing, _strangers, _space, _log,
)  # fmt: skip


_MANY_BYTES = 100 << 20  # from here on a check takes long enough to say so
_SHOWN = 3  # problems named of a damaged memory
_LEVELS = {IndexState.CURRENT: Level.OK, IndexState.DAMAGED: Level.FAIL}


@dataclass(frozen=True, slots=True)
class _Subject:
    memory: Memory
    quick: bool
    listen: Listener


def examine_memory(
    memory: Memory, *, quick: bool = False, listen: Listener = ignore_events
) -> Iterator[Finding]:
    """`quick` reads no more than the beginnings of the files."""
    subject = _Subject(memory, quick, listen)
    stages = STAGES if isinstance(memory.whereabouts, SqliteLocation) else SERVER_STAGES
    for checks in stages:
        found = list(carry_out(checks, subject, area=MEMORY_AREA))
        yield from found
        if any(finding.level in (Level.NOTE, Level.FAIL) for finding in found):
            break  # there is nothing to open, or it is damaged
    yield from carry_out(SURROUNDINGS, memory, area=MEMORY_AREA)


def _place(subject: _Subject) -> Iterator[Finding]:
    path, places = subject.memory.path, subject.memory.places
    if places.project is not None:
        require_own(places.memory_folder)
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        text = f"There is no memory yet at {shown(path)}"
        yield Finding(Level.NOTE, MEMORY_AREA, text, "make one with `aur mem index .`")
    except OSError as exc:
        text = f"{shown(path)} cannot be looked at: {exc.strerror}"
        yield Finding(Level.FAIL, MEMORY_AREA, text, "check who owns the folders above it")
    else:
        yield Finding(Level.OK, MEMORY_AREA, f"Memory: {shown(path)} ({size / 2**20:,.1f} MiB)")


def _schema(subject: _Subject) -> Iterator[Finding]:
    version, ours = schema_of(subject.memory.path), len(MIGRATIONS)
    if version == ours:
        yield Finding(Level.OK, MEMORY_AREA, f"Schema {version}, as this Aurora writes it")
    else:
        text = f"Schema {version}, older than {ours}, which this Aurora writes; not checked further"
        hint = "any other command brings it up to date, such as `aur mem stats`"
        yield Finding(Level.NOTE, MEMORY_AREA, text, hint)


def _server(subject: _Subject) -> Iterator[Finding]:
    """A server that is away, or has no memory yet, says so by the error it is opened with."""
    try:
        size = subject.memory.stats().bytes
    except NoMemoryError as exc:
        yield Finding(Level.NOTE, MEMORY_AREA, exc.message, exc.hint)
    else:
        yield Finding(
            Level.OK, MEMORY_AREA, f"Memory: {subject.memory.name} ({size / 2**20:,.1f} MiB)"
        )


def _contents(subject: _Subject) -> Iterator[Finding]:
    stats = subject.memory.stats()
    chunks, files = sum(stats.chunks.values()), stats.files
    yield Finding(Level.OK, MEMORY_AREA, f"Holds {chunks:,} chunks of {files:,} files")


def _integrity(subject: _Subject) -> Iterator[Finding]:
    if subject.quick:
        if damage := subject.memory.damage():
            yield Finding(Level.FAIL, MEMORY_AREA, damage)
        return
    _say_if_long(subject)
    try:
        problems = subject.memory.check()
    except StoreFormatError:
        raise
    except StoreError as exc:  # busy, or on a disk that is mounted read-only
        text = f"The database could not be checked for damage: {exc.message}"
        yield Finding(Level.WARN, MEMORY_AREA, text, exc.hint)
    else:
        yield judge_problems(problems, subject.memory.name)


def _left_out(subject: _Subject) -> Iterator[Finding]:
    if subject.quick:
        yield Finding(Level.NOTE, MEMORY_AREA, "Database not checked for damage (--quick)")


def judge_problems(problems: Sequence[str], name: Path | str) -> Finding:
    """Whatever was found wrong, in one finding."""
    if not problems:
        return Finding(Level.OK, MEMORY_AREA, "Database and text indexes are whole")
    more = [f"… and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
    called = shown_name(name)
    text = "\n".join([f"{called} is damaged:", *problems[:_SHOWN], *more])
    mend = (
        "`aur mem repair` keeps all that can be read; `aur mem export` writes it to a file"
        if isinstance(name, Path)
        else "`aur mem rebuild-bm25` makes all words anew; `REINDEX` mends an index"
    )
    return Finding(Level.FAIL, MEMORY_AREA, text, mend)


def _say_if_long(subject: _Subject) -> None:
    memory = subject.memory
    is_file = isinstance(memory.whereabouts, SqliteLocation)  # which may be damaged
    size = memory.path.stat().st_size if is_file else memory.stats().bytes
    if size >= _MANY_BYTES:
        note = f"Checking {size / 2**20:,.0f} MiB takes a while; --quick leaves it out..."
        subject.listen(Note(note))


def _keyword_index(subject: _Subject) -> Iterator[Finding]:
    check = subject.memory.retriever.bm25.check(whole=not subject.quick)
    yield _judge_index("Keyword index", check, "or build it now with `aur mem rebuild-bm25`")


def _vector_index(subject: _Subject) -> Iterator[Finding]:
    check = subject.memory.retriever.vectors.check(whole=not subject.quick)
    if check.state is not IndexState.MISSING or subject.memory.stats().embedded:
        yield _judge_index("Vector index", check, "")


def _vectors(subject: _Subject) -> Iterator[Finding]:
    return compare_embedders(subject.memory)


def _judge_index(name: str, check: IndexCheck, hint: str) -> Finding:
    level = _LEVELS.get(check.state, Level.NOTE)
    reason = f" ({check.reason})" if check.reason else ""
    return Finding(
        level, MEMORY_AREA, f"{name}: {check.state.told}{reason}", "" if level is Level.OK else hint
    )


STAGES: tuple[tuple[Check[_Subject], ...], ...] = (
    (_place,),
    (_schema,),
    (_integrity,),
    (_contents,),
    (_left_out, _keyword_index, _vector_index, _vectors),
)
SERVER_STAGES: tuple[tuple[Check[_Subject], ...], ...] = (
    (_server,),
    (_integrity,),
    (_contents,),
    (_left_out, _vectors),
)
