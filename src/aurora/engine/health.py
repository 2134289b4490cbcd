"""The checks of `aur doctor`: of the program, its optional packages, a memory and the settings.

A check is a function that yields lines: level, text and hint. Each area has a table of checks. A
check that raises is a finding, too, and the others still run. Nothing is changed, and no text is
sent to another machine: of an endpoint that the settings name, only the connection is tried.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from aurora.config import SettingsFiles
from aurora.config.load import as_typed, without_password, without_secrets
from aurora.config.places import CACHE, shown
from aurora.config.schema import CATALOGUE, value_of
from aurora.endpoints import EMBEDDING, LLM, Purpose, find_fault, parse_address
from aurora.engine.layers import PERSONAL
from aurora.engine.location import shown_name
from aurora.engine.memory import Memory
from aurora.engine.processes import find_running, is_aurora
from aurora.engine.stranded import find_stranded, repository_of
from aurora.errors import (
    AuroraError,
    ConfigError,
    LlmError,
    NoMemoryError,
    StoreError,
    StoreFormatError,
)
from aurora.files import require_own
from aurora.package_manager import install_command, repair_command
from aurora.parsers.languages import GRAMMARS
from aurora.platforms import effective_user, list_processes
from aurora.report_types import Finding, Level
from aurora.sources.git import version as git_version
from aurora.sources.watch import require_watchfiles
from aurora.stores.sqlite.database_file import SQLiteLibrary, describe_library, schema_of
from aurora.stores.sqlite.schema import MIGRATIONS
from aurora.text import pluralize
from aurora.types import IndexCheck, IndexState, Listener, Note, ignore_events

logger = logging.getLogger(__name__)

Subject = TypeVar("Subject")
Line: TypeAlias = tuple[Level, str, str]  # level, text, hint
Check: TypeAlias = Callable[[Subject], Iterable[Line]]

_SHOWN_PROBLEMS = 3  # of a damaged memory
_SHOWN_FILES = 5  # foreign files in the memory's folder
_LARGE = 100 << 20  # bytes of a memory whose check takes long enough to say so
_SPARE = 256 << 20  # bytes that should stay free, beside the size of the memory
_READ_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
_ENTERED_BY_OTHERS = stat.S_IXGRP | stat.S_IXOTH
_OWN_FILES = (
    ".gitignore", "config.yml", "config.yml.*.tmp", "indexes", "run", "logs", "cache", "models",
    "given", "approved.json", "memories.json", "memories.json.lock", "installed.json",
    "installed.lock", "workspace.json", "checkouts.json", "*.json.*.tmp", ".DS_Store",
)  # fmt: skip
_OWN_INDEXES = (
    "llm", "bm25.idx", "vectors.idx", "points.idx", "*.idx.*.seg", "*.idx.*.tmp", "*.lock",
    "history-*.book", "history-*.tmp", "looks.json", "looks.json.*.tmp",
)  # fmt: skip


def run_checks(area: str, checks: Iterable[Check[Subject]], subject: Subject) -> Iterator[Finding]:
    """The findings of all checks; a check that raises has failed."""
    for check in checks:
        try:
            for level, text, hint in check(subject):
                yield Finding(level, area, text, hint)
        except AuroraError as exc:
            yield Finding(Level.FAIL, area, exc.message, exc.hint)
        except Exception as exc:  # the other checks are still useful
            logger.exception("%s", check.__name__)
            name = check.__name__.removeprefix("check_").strip("_").replace("_", " ")
            yield Finding(Level.FAIL, area, f"{name} could not be checked: {exc!r}")


# The program


def examine_program() -> Iterator[Finding]:
    return run_checks("program", (check_versions, check_sqlite), describe_library())


def check_versions(_: object) -> Iterator[Line]:
    yield Level.OK, f"Aurora {version('aurora-memory')}", ""
    yield Level.OK, f"Python {platform.python_version()} ({sys.executable})", ""
    yield Level.OK, platform.platform(), ""


def check_sqlite(library: SQLiteLibrary) -> Iterator[Line]:
    features = (("FTS5", library.has_fts5), ("trigrams", library.has_trigrams))
    missing = [name for name, is_there in features if not is_there]
    if missing:
        text = f"SQLite {library.version} without {' and '.join(missing)}: no memory can be made"
        yield Level.FAIL, text, "use a Python with SQLite 3.34 or newer, built with FTS5"
    else:
        yield Level.OK, f"SQLite {library.version} with FTS5 and trigrams", ""


# Optional packages and programs


class Part(NamedTuple):
    """What Aurora can use. `require` raises if it cannot be used, and may return its version."""

    name: str
    use: str
    hint: str
    missing: Level = Level.NOTE
    require: Callable[[], object] | None = None  # None: its package must be installed

    def find(self) -> str:
        """The version. Without an import of the package, which takes long for some."""
        if self.require is None and find_spec(self.name) is None:
            raise ModuleNotFoundError(f"No module named {self.name!r}")
        found = self.require() if self.require else None
        try:
            return found if isinstance(found, str) else version(self.name)
        except PackageNotFoundError:
            return "of unknown version"


def parts() -> tuple[Part, ...]:
    watch, onnx, openai = map(install_command, ("watch", "onnx", "openai"))
    return (
        Part("git", "knowing which files count and which commits changed them",
             "install git, then run `aur mem index`", Level.WARN, git_version),
        Part("numpy", "building the keyword index, and further questions to one",
             f"{repair_command('numpy')}; without it nothing can be indexed", Level.FAIL,
             partial(import_module, "numpy")),  # an installed package may still be broken
        Part("watchfiles", "`aur mem watch`", watch, require=require_watchfiles),
        Part("onnxruntime", "transformer models and `--rerank local`", onnx),
        Part("httpx2", "embeddings and language models of an endpoint", openai),
        Part("mcp", "`aur mcp`, the server for agents", install_command("mcp")),
        Part("uvicorn", "`aur ui`, the page in a browser", install_command("ui")),
        Part("psycopg", "a memory on a PostgreSQL server", install_command("postgres")),
        Part("ray", "embedding on several machines", install_command("ray")),
    )  # fmt: skip


def examine_parts() -> Iterator[Finding]:
    return run_checks("parts", (check_parts, check_grammars), parts())


def check_parts(wanted: Sequence[Part]) -> Iterator[Line]:
    for part in wanted:
        try:
            found = part.find()
        except Exception as exc:  # missing, or broken in any way
            reason = exc.message if isinstance(exc, AuroraError) else str(exc)
            yield part.missing, f"{part.name}: missing, for {part.use} ({reason})", part.hint
        else:
            yield Level.OK, f"{part.name} {found}, for {part.use}", ""


def check_grammars(_: Sequence[Part]) -> Iterator[Line]:
    from aurora.parsers.code import TreeMaker  # noqa: PLC0415 - tree-sitter may be broken

    usable = 0
    for language, grammar in {each.language: each for each in GRAMMARS.values()}.items():
        try:
            TreeMaker(grammar)
        except Exception as exc:  # a package of another version fails in its own way
            package = grammar.module.replace("_", "-")
            yield (
                Level.WARN,
                f"The grammar of {language} cannot be loaded: {exc}",
                f"{repair_command(package)}; until then its files are cut by lines",
            )
        else:
            usable += 1
    if usable:
        text = f"tree-sitter {version('tree-sitter')} with the grammars of {usable} languages"
        yield Level.OK, text, ""


# Settings


def examine_settings(files: SettingsFiles) -> Iterator[Finding]:
    return run_checks("settings", (check_files, check_values), files)


def check_files(files: SettingsFiles) -> Iterator[Line]:
    places = files.places
    for name, file in (("Project", places.project_config), ("User", places.user_config)):
        if file is not None:
            missing = "" if _exists(file, otherwise=True) else " (not there: defaults)"
            yield Level.OK, f"{name} file: {shown(file)}{missing}", ""


def check_values(files: SettingsFiles) -> Iterator[Line]:
    """Every value, and where it comes from."""
    try:
        loaded = files.current()
    except ConfigError as exc:
        then = "until then other commands refuse, and the memory is checked with the defaults"
        hint = f"{exc.hint}; {then}" if exc.hint else then
        yield Level.FAIL, without_secrets(exc.message), hint
        return
    for warning in filter(None, (*loaded.warnings, loaded.unused_weights(loaded.fusion))):
        yield Level.WARN, warning, ""
    for key in CATALOGUE:
        value = without_secrets(without_password(as_typed(value_of(loaded.settings, key))))
        yield Level.OK, f"{key} = {value}  ({loaded.origins.get(key, 'default')})", ""


# A memory


class MemoryCheck(NamedTuple):
    """The memory to check. `quick` reads only the beginnings of its files."""

    memory: Memory
    quick: bool = False
    listen: Listener = ignore_events


def examine_memory(
    memory: Memory, *, quick: bool = False, listen: Listener = ignore_events
) -> Iterator[Finding]:
    """The findings of the stages, until one finds nothing to open, or damage; then of the rest."""
    subject = MemoryCheck(memory, quick, listen)
    for checks in FILE_STAGES if memory.admin.location.path else SERVER_STAGES:
        findings = list(run_checks("memory", checks, subject))
        yield from findings
        if any(finding.level in (Level.NOTE, Level.FAIL) for finding in findings):
            break
    yield from run_checks("memory", ALWAYS, subject)


def check_file(subject: MemoryCheck) -> Iterator[Line]:
    path, places = subject.memory.admin.path, subject.memory.places
    if places.project is not None:
        require_own(places.memory_folder)
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        text = f"There is no memory yet at {shown(path)}"
        yield Level.NOTE, text, "make one with `aur mem index .`"
    except OSError as exc:
        text = f"{shown(path)} cannot be looked at: {exc.strerror}"
        yield Level.FAIL, text, "check who owns the folders above it"
    else:
        yield Level.OK, f"Memory: {shown(path)} ({size / 2**20:,.1f} MiB)", ""


def check_server(subject: MemoryCheck) -> Iterator[Line]:
    """An unreachable server raises when it is opened."""
    memory = subject.memory
    try:
        size = memory.stats().bytes
    except NoMemoryError as exc:
        yield Level.NOTE, exc.message, exc.hint
    else:
        yield Level.OK, f"Memory: {memory.name} ({size / 2**20:,.1f} MiB)", ""


def check_schema(subject: MemoryCheck) -> Iterator[Line]:
    schema, newest = schema_of(subject.memory.admin.path), len(MIGRATIONS)
    if schema == newest:
        yield Level.OK, f"Schema {schema}, as this Aurora writes it", ""
        return
    text = f"Schema {schema}, older than {newest}, which this Aurora writes; not checked further"
    yield Level.NOTE, text, "any other command brings it up to date, such as `aur mem stats`"


def check_integrity(subject: MemoryCheck) -> Iterator[Line]:
    admin = subject.memory.admin
    if subject.quick:
        if damage := admin.store.maintenance.damage():
            yield Level.FAIL, damage, ""
        return
    is_file = admin.location.path is not None
    # `stats` fails on a damaged file.
    size = admin.path.stat().st_size if is_file else subject.memory.stats().bytes
    if size >= _LARGE:
        text = f"Checking {size / 2**20:,.0f} MiB takes a while; --quick leaves it out..."
        subject.listen(Note(text))
    try:
        problems = admin.check()
    except StoreFormatError:
        raise
    except StoreError as exc:  # busy, or mounted read-only
        text = f"The database could not be checked for damage: {exc.message}"
        yield Level.WARN, text, exc.hint
    else:
        yield judge_problems(problems, shown_name(subject.memory.name), is_file=is_file)


def judge_problems(problems: Sequence[str], name: str, *, is_file: bool) -> Line:
    if not problems:
        return Level.OK, "Database and text indexes are whole", ""
    more = len(problems) - _SHOWN_PROBLEMS
    lines = [f"{name} is damaged:", *problems[:_SHOWN_PROBLEMS]]
    hint = (
        "`aur mem repair` keeps all that can be read; `aur mem export` writes it to a file"
        if is_file
        else "`aur mem rebuild-bm25` rebuilds all words; `REINDEX` repairs an index"
    )
    return Level.FAIL, "\n".join([*lines, f"… and {more:,} more"] if more > 0 else lines), hint


def check_contents(subject: MemoryCheck) -> Iterator[Line]:
    stats = subject.memory.stats()
    yield Level.OK, f"Holds {sum(stats.chunks.values()):,} chunks of {stats.files:,} files", ""


def check_skipped(subject: MemoryCheck) -> Iterator[Line]:
    if subject.quick:
        yield Level.NOTE, "Database not checked for damage (--quick)", ""


def check_keyword_index(subject: MemoryCheck) -> Iterator[Line]:
    check = subject.memory.admin.retriever.bm25.check(whole=not subject.quick)
    yield _judge_index("Keyword index", check, "or build it now with `aur mem rebuild-bm25`")


def check_vector_index(subject: MemoryCheck) -> Iterator[Line]:
    check = subject.memory.admin.retriever.vectors.check(whole=not subject.quick)
    if check.state is not IndexState.MISSING or subject.memory.stats().embedded:
        yield _judge_index("Vector index", check, "")


def _judge_index(name: str, check: IndexCheck, hint: str) -> Line:
    levels = {IndexState.CURRENT: Level.OK, IndexState.DAMAGED: Level.FAIL}
    level = levels.get(check.state, Level.NOTE)
    reason = f" ({check.reason})" if check.reason else ""
    return level, f"{name}: {check.state.description}{reason}", "" if level is Level.OK else hint


def check_vectors(subject: MemoryCheck) -> Iterator[Line]:
    admin = subject.memory.admin
    owner, chosen = admin.vectors_of(), admin.chosen_embedder()
    if run := admin.improving:
        yield Level.OK, f"Better vectors: {run.share} made in the background", ""
    elif admin.is_improvable:
        yield Level.NOTE, "Better vectors are still to be made", "`aur mem index` makes them"
    elif owner is not None and chosen and owner.name != chosen:
        text = f"The vectors are of {owner.name}, not of {chosen}, which the settings choose"
        yield Level.NOTE, text, "`aur mem reembed` makes them again"


def check_embedder(subject: MemoryCheck) -> Iterator[Line]:
    """One text is embedded, unless the provider is remote."""
    settings = subject.memory.settings.embedding
    provider = settings.provider
    if provider == "none":
        text = "Embedder: none, as the settings say; search goes by words and use"
        yield Level.NOTE, text, "set `embedding.provider` to aurora, or unset it"
        return
    try:
        embedder = subject.memory.admin.try_embedder()
    except ConfigError:
        raise
    except AuroraError as exc:
        yield Level.WARN, f"Embedder {provider}: {exc.message}", exc.hint
        return
    if not embedder.dimension:
        yield _judge_endpoint("Embedder", embedder.name, settings.endpoint, EMBEDDING)
        return
    yield Level.OK, f"Embedder: {embedder.name} ({embedder.dimension} dimensions)", ""


def _judge_endpoint(what: str, name: str, endpoint: str, purpose: Purpose) -> Line:
    """Tries to connect, if the settings name the endpoint. Sends nothing."""
    if not endpoint:
        return Level.OK, f"{what}: {name} (remote: not called)", ""
    if not (fault := find_fault(parse_address(endpoint, purpose))):
        return Level.OK, f"{what}: {name} (remote: can be reached, not called)", ""
    text = f"{what}: {name}: the endpoint {endpoint} cannot be reached ({fault})"
    hint = f"start it, or set another {purpose.setting}; until then searches go without it"
    return Level.WARN, text, hint


def check_llm(subject: MemoryCheck) -> Iterator[Line]:
    """Yields nothing where no setting names a language model or uses one."""
    search, llm = subject.memory.settings.search, subject.memory.settings.llm
    if not llm.endpoint and not search.expand and search.rerank.by != "llm":
        return
    try:
        name = subject.memory.admin.check_llm()
    except LlmError as exc:
        yield Level.WARN, f"Language model: {exc.message}", exc.hint
    else:
        yield _judge_endpoint("Language model", name, llm.endpoint, LLM)


def check_layers(subject: MemoryCheck) -> Iterator[Line]:
    """Every memory that a search here may ask, with its place."""
    memory = subject.memory
    layers = {memory.label: memory, **({PERSONAL: memory.personal} if memory.personal else {})}
    for name, layer in layers.items():
        missing = "" if layer.exists else " (not there yet)"
        yield Level.OK, f"Searched: {name} at {shown_name(layer.name)}{missing}", ""
    for name, layer in memory.workspace().items():
        if layer.exists:
            yield Level.OK, f"Searched with --workspace: {name} at {shown_name(layer.name)}", ""
        else:
            text = f"Not in the workspace any more: {name} at {shown_name(layer.name)}"
            yield Level.WARN, text, f"`aur workspace remove {name}`, or index it again"


def check_stranded(subject: MemoryCheck) -> Iterator[Line]:
    if repository := repository_of(subject.memory):
        text = f"This worktree has a memory of its own, and not that of {shown(repository)}"
        hint = "`aur doctor --fix` moves its lessons and documents there, then `aur index`"
        yield Level.WARN, text, hint
    stranded = find_stranded(subject.memory)
    if stranded:
        titles = ", ".join(document.title for document in stranded[:_SHOWN_FILES])
        more = len(stranded) - _SHOWN_FILES
        counted = pluralize(len(stranded), "document")
        text = f"Your own memory holds {counted} of this project: {titles}"
        hint = "`aur doctor --fix` moves them to the project's memory, where others can find them"
        yield Level.WARN, f"{text} and {more:,} more" if more > 0 else text, hint


def check_readers(subject: MemoryCheck) -> Iterator[Line]:
    """On Windows, file modes say nothing about other users."""
    path = subject.memory.admin.path
    if effective_user() is None or not _exists(path):
        return
    file, folder = path.stat().st_mode, path.parent.stat().st_mode
    if file & _READ_BY_OTHERS and folder & _ENTERED_BY_OTHERS:
        text = f"Other users of this machine can read {shown(path)}"
        yield Level.WARN, text, f"chmod 700 {shown(path.parent)}"


def check_writing(subject: MemoryCheck) -> Iterator[Line]:
    path = subject.memory.admin.path
    if _exists(path) and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        text = f"{shown(path.parent)} cannot be written: nothing can be added to the memory"
        yield Level.WARN, text, "check who owns it and how the disk is mounted"


def check_foreign_files(subject: MemoryCheck) -> Iterator[Line]:
    """Only in a folder of Aurora's own: a database may be in any folder."""
    path, folder = subject.memory.admin.path, subject.memory.places.memory_folder
    if path.parent != folder or not _exists(path):
        return
    own = (*_OWN_FILES, path.name, f"{path.name}-*")
    files = [*_others(folder, own), *_others(folder / "indexes", _OWN_INDEXES)]
    if files:
        names = ", ".join(file.relative_to(folder).as_posix() for file in files[:_SHOWN_FILES])
        more = f" and {len(files) - _SHOWN_FILES:,} more" if len(files) > _SHOWN_FILES else ""
        text = f"Files in {shown(folder)} that Aurora did not make: {names}{more}"
        yield Level.NOTE, text, "they do no harm; move them if they are of no use"


def _others(folder: Path, own: Sequence[str]) -> list[Path]:
    try:
        files = sorted(folder.iterdir())
    except OSError:  # missing or unreadable: other checks say so
        return []
    return [file for file in files if not any(fnmatchcase(file.name, name) for name in own)]


def check_space(subject: MemoryCheck) -> Iterator[Line]:
    """A warning if little is free: an index run may need the size of the memory again."""
    path = subject.memory.admin.path
    if _exists(path):
        yield from judge_space(shutil.disk_usage(path.parent).free, path.stat().st_size)


def judge_space(free: int, size: int) -> Iterator[Line]:
    if free < size + _SPARE:
        text = f"The memory's disk has only {free / 2**20:,.0f} MiB left"
        hint = f"free some space: indexing may need {(size + _SPARE) / 2**20:,.0f} MiB"
        yield Level.WARN, text, hint


def check_cache(subject: MemoryCheck) -> Iterator[Line]:
    """What all memories of the user share."""
    folder = subject.memory.places.home / CACHE
    size = 0
    for file in folder.glob("*/*"):
        with suppress(OSError):  # another process just removed it
            size += file.stat().st_size
    if size:
        text = f"Cache: {shown(folder)} ({size / 2**20:,.1f} MiB of vectors and git histories)"
        yield Level.OK, text, ""


def check_processes(subject: MemoryCheck) -> Iterator[Line]:
    """Other processes that use the memory; none where the system shows none."""
    memory, processes = subject.memory, list_processes(is_aurora)
    for running in find_running(processes, memory.places, memory.admin.environ):
        since = datetime.fromtimestamp(running.process.since, UTC).astimezone()
        text = f"Process {running.process.number}: {running.command}, since {since:%Y-%m-%d %H:%M}"
        yield Level.OK, text, ""


def check_log(subject: MemoryCheck) -> Iterator[Line]:
    home = subject.memory.places.home
    file = home / "logs" / "aurora.log"
    if _exists(home) and not (home.is_dir() and os.access(home, os.W_OK)):
        text = f"The log {shown(file)} cannot be written"
        yield Level.WARN, text, "set AURORA_HOME to a folder of yours"
    else:
        size = sum(each.stat().st_size for each in file.parent.glob(f"{file.name}*"))
        state = f"{size / 2**20:,.1f} MiB" if size else "nothing to say yet"
        yield Level.OK, f"Log: {shown(file)} ({state})", ""


def _exists(path: Path, *, otherwise: bool = False) -> bool:
    """`otherwise` is the answer where permissions hide the path."""
    try:
        return path.exists()
    except OSError:
        return otherwise


Checks: TypeAlias = tuple[Check[MemoryCheck], ...]
FILE_STAGES: tuple[Checks, ...] = (
    (check_file,),
    (check_schema,),
    (check_integrity,),
    (check_contents,),
    (check_skipped, check_keyword_index, check_vector_index, check_vectors),
)
SERVER_STAGES: tuple[Checks, ...] = (
    (check_server,),
    (check_integrity,),
    (check_contents,),
    (check_skipped, check_vectors),
)
ALWAYS: Checks = (
    check_layers, check_stranded, check_embedder, check_llm, check_readers, check_writing,
    check_foreign_files, check_space, check_processes, check_cache, check_log,
)  # fmt: skip
