"""What Aurora can use, and can do without: one row a part.

A part that is to come is one row more in `PARTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from aurora.engine.health.checking import Check, carry_out
from aurora.errors import AuroraError
from aurora.types import Finding, Level

AREA = "parts"


@dataclass(frozen=True, slots=True)
class Part:
    """`find` tells which version is there, and raises when it cannot be used."""

    name: str
    use: str
    find: Callable[[], str]
    hint: str
    missing: Level = Level.NOTE  # how bad it is to do without


def examine_parts() -> Iterator[Finding]:
    return carry_out(CHECKS, PARTS, area=AREA)


def _parts(parts: tuple[Part, ...]) -> Iterator[Finding]:
    for part in parts:
        try:
            found = part.find()
        except Exception as exc:  # not there, or broken in whatever way
            reason = exc.message if isinstance(exc, AuroraError) else str(exc)
            text = f"{part.name}: missing, for {part.use} ({reason})"
            yield Finding(part.missing, AREA, text, part.hint)
        else:
            yield Finding(Level.OK, AREA, f"{part.name} {found}, for {part.use}")


def _grammars(_: tuple[Part, ...]) -> Iterator[Finding]:
    from aurora.parsers.languages import GRAMMARS  # noqa: PLC0415 - compiled parsers
    from aurora.parsers.trees import TreeMaker  # noqa: PLC0415

    grammars = {grammar.language: grammar for grammar in GRAMMARS.values()}
    whole = 0
    for language, grammar in grammars.items():
        try:
            TreeMaker(grammar)
        except Exception as exc:  # a wheel of another version fails in its own way
            package = grammar.module.replace("_", "-")
            text = f"The grammar of {language} cannot be loaded: {exc}"
            hint = f"pip install --force-reinstall {package}; until then its files are cut by lines"
            yield Finding(Level.WARN, AREA, text, hint)
        else:
            whole += 1
    if whole:
        text = f"tree-sitter {version('tree-sitter')} with the grammars of {whole} languages"
        yield Finding(Level.OK, AREA, text)


def _git() -> str:
    from aurora.sources.git import version as git_version  # noqa: PLC0415

    return git_version()


def _watchfiles() -> str:
    from aurora.sources.watching import require_watchfiles  # noqa: PLC0415

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
CHECKS: tuple[Check[tuple[Part, ...]], ...] = (_parts, _grammars)
