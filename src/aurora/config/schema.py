"""Every setting, declared once: its default, its rule and its description.

A rule takes a value as it was read and returns the checked value. A wrong value is a `ValueError`
that says what the value must be. Reading files and variables is left to `load`, writing to `edit`,
and the limits on unapproved project files to `trust`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar, cast

from aurora.config.yaml import parse_yaml
from aurora.errors import ConfigError

Parse: TypeAlias = Callable[[object], object]
T = TypeVar("T")
S = TypeVar("S", bound=NamedTuple)

LONGEST_TEXT = 4096  # characters: the longest path, and more than any address or model needs


# Rules


def number(
    *, minimum: float = -math.inf, maximum: float = math.inf, sane: float = math.inf
) -> Parse:
    """A finite number within bounds. `sane` bounds values whose arithmetic would overflow."""
    bounded = maximum < math.inf
    rule = f"Must be in [{minimum}, {maximum}]" if bounded else f"Must be ≥ {minimum}"

    def parse(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not _is_finite(raw):
            raise ValueError("Must be a number")
        if not minimum <= raw <= maximum:
            raise ValueError(rule)
        if raw > sane:
            raise ValueError(f"Must be ≤ {sane:g}")
        return float(raw)

    return parse


def _is_finite(raw: float) -> bool:
    try:
        return math.isfinite(raw)
    except OverflowError:  # an integer beyond every float
        return False


def integer(*, minimum: int, maximum: int) -> Parse:
    def parse(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int):
            raise ValueError("Must be an integer")  # noqa: TRY004 - the user's value
        if raw < minimum:
            raise ValueError(f"Must be ≥ {minimum}")
        if raw > maximum:
            raise ValueError(f"Must be ≤ {maximum}")
        return raw

    return parse


def choice(*names: str) -> Parse:
    def parse(raw: object) -> str:
        if raw not in names:
            raise ValueError(f"Must be one of {', '.join(names)}")
        return str(raw)

    return parse


def flag(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise ValueError("Must be true or false")  # noqa: TRY004
    return raw


def text(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError("Must be text")  # noqa: TRY004
    if len(raw) > LONGEST_TEXT:
        raise ValueError(f"Must be at most {LONGEST_TEXT:,} characters")
    return raw


def _matching(pattern: str, rule: str) -> Parse:
    def parse(raw: object) -> str:
        if not isinstance(raw, str) or not re.fullmatch(pattern, raw):
            raise ValueError(rule)
        return text(raw)

    return parse


def _address(pattern: str, rule: str) -> Parse:
    """An address that matches the pattern, or empty."""

    def parse(raw: object) -> str:
        if not isinstance(raw, str) or not raw.isprintable():
            raise ValueError("Must be an address in one line")
        if raw and not re.fullmatch(pattern, raw):
            raise ValueError(rule)
        return text(raw)

    return parse


word = _matching(r"[a-z0-9][a-z0-9_-]*", "Must be a name of small letters, digits and hyphens")
schema_name = _matching(
    r"(?!pg_)[a-z_][a-z0-9_]{0,62}", "Must be a name of small letters, digits and _"
)
cluster = _matching(r"((\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5})?", "Must be HOST:PORT")
# No login or parameters: a key in the address would be shown, and sent unencrypted.
address = _address(
    r"https?://[^/?#@]+(/[^?#]*)?",
    "Must be http:// or https:// and a host, without a login or parameters",
)
database_url = _address(
    r"postgres(ql)?://[^\s?]*(\?.*)?", "Must be postgresql://USER@HOST:PORT/DATABASE"
)


def file_path(raw: object) -> str:
    try:
        path = Path(text(raw)).expanduser()
    except RuntimeError as exc:  # `~` of an unknown user
        raise ValueError("Must be a path") from exc
    if not raw or "\0" in str(path):
        raise ValueError("Must be a path")
    return text(raw)


def link_pattern(raw: object) -> str:
    """`auto`, `never`, or an address with `{path}`. It is written to a terminal."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be a text in one line")
    if raw not in ("auto", "never") and "{path}" not in raw:
        raise ValueError("Must be auto, never or an address with {path} in it")
    return text(raw)


_share = number(minimum=0.0, maximum=1.0)
_LITERAL = (text, file_path, word, address, database_url, schema_name, cluster)  # never YAML


# Settings


class Guard(Enum):
    """When a project file may not choose a setting until the user approves the file."""

    CHOICE = auto()  # always: models, endpoints, links decide where text is sent and what runs
    OUTSIDE = auto()  # a path that leads out of the memory's folder
    AWAY = auto()  # a value that sends text to another machine
    SAFETY = auto()  # a value that switches a protection off


class Setting(NamedTuple):
    """One setting: its dotted key, default, rule, description and guard.

    `unapproved_most` is the largest value that a project file may choose before approval, for
    settings that take time or memory.
    """

    key: str
    default: object
    parse: Parse
    help: str
    guard: Guard | None
    unapproved_most: float | None

    @property
    def variable(self) -> str:
        """The environment variable: search.bm25.k1 → AURORA_SEARCH_BM25_K1."""
        return "AURORA_" + self.key.replace(".", "_").upper()

    @property
    def may_hold_password(self) -> bool:
        """True when a refused value may contain a password."""
        return self.parse is database_url

    def read(self, typed: str) -> object:
        """Read a typed value: text is taken literally, all else is YAML."""
        if self.parse in _LITERAL:
            return typed
        return parse_yaml(typed.encode("utf-8", "surrogateescape"))


def _setting(
    default: T,
    parse: Parse,
    help: str,  # noqa: A002
    *,
    guard: Guard | None = None,
    unapproved_most: float | None = None,
) -> T:
    """Declare a setting. Its key follows from the field that holds it."""
    return cast("T", Setting("", default, parse, help, guard, unapproved_most))


def _section(section: type[T]) -> type[T]:
    """Make a NamedTuple a section. The declarations stay in `_field_defaults`."""
    # NamedTuples, because every command defines all sections, and a dataclass takes 1 ms.
    declared = section._field_defaults.values()  # type: ignore[attr-defined]
    defaults = tuple(item.default if isinstance(item, Setting) else item for item in declared)
    section.__new__.__defaults__ = defaults
    return section


@_section
class BM25Settings(NamedTuple):
    k1: float = _setting(
        1.5, number(minimum=0.0, sane=1e6), "Term frequency saturation; 1.2–2.0 is typical."
    )
    b: float = _setting(0.75, _share, "Length normalisation; 0 ignores length.")
    idf: str = _setting(
        "lucene",
        choice("lucene", "robertson"),
        "`lucene` is ln(1 + (N−n+.5)/(n+.5)), never negative; `robertson` leaves out the 1.",
    )


@_section
class StageWeights(NamedTuple):
    semantic: float = _setting(
        0.5,
        _share,
        "Weight of meaning in stage 2 of `staged`. If set, keywords only select candidates.",
    )
    activation: float = _setting(
        0.5, _share, "Weight of use and change in stage 2 of `staged`. If set, likewise."
    )


@_section
class HybridWeights(NamedTuple):
    bm25: float = _setting(0.3, _share, "Weight of words in `staged`.")
    semantic: float = _setting(0.4, _share, "Weight of meaning in `staged`.")
    activation: float = _setting(0.3, _share, "Weight of use and change in `staged`.")


@_section
class HybridSettings(NamedTuple):
    stage1_top_k: int = _setting(
        100,
        integer(minimum=10, maximum=1_000_000),
        "Candidates taken from each signal.",
        unapproved_most=1_000,
    )
    weights: HybridWeights = HybridWeights()
    stage2_weights: StageWeights = StageWeights()


@_section
class AutoSettings(NamedTuple):
    prose: float = _setting(
        0.3,
        _share,
        "Share of meaning in `auto` for prose; words have the rest. If not set, the embedding "
        "model decides.",
    )
    code: float = _setting(0.8, _share, "Share of meaning in `auto` for code; likewise.")
    activation: float = _setting(
        0.3, _share, "Share of use and change in `auto`, in addition to both."
    )


@_section
class WeightedSettings(NamedTuple):
    semantic: float = _setting(
        0.7,
        _share,
        "Share of meaning in `weighted`; words have the rest. If not set, a small model has less. "
        "If set without `search.fusion`, `weighted` is used.",
    )
    activation: float = _setting(
        0.05, _share, "Share of use and change in `weighted`, in addition to both."
    )


@_section
class RrfSettings(NamedTuple):
    k: int = _setting(
        60,
        integer(minimum=1, maximum=1_000_000_000),
        "A larger value gives the first places less weight.",
    )


@_section
class RecencySettings(NamedTuple):
    half_life: float = _setting(
        30.0,
        number(minimum=0.01, sane=1e6),
        "Days after which a dated note counts half, in `auto` and `weighted`.",
    )


@_section
class RerankSettings(NamedTuple):
    by: str = _setting(
        "none",
        choice("none", "local", "llm"),
        "Reranks the first 20 results: `local` with a model of the extra `onnx`, `llm` with the "
        "model of `llm.endpoint`, which is sent a part of each.",
        guard=Guard.AWAY,
    )
    when: str = _setting(
        "always",
        choice("always", "unsure"),
        "`always`, or `unsure`: only when the first result does not stand out.",
    )
    seconds: float = _setting(
        2.0,
        number(minimum=0.0, sane=3600.0),
        "Time limit of `local`; results not reached keep their place.",
        unapproved_most=10,
    )


@_section
class SearchSettings(NamedTuple):
    bm25: BM25Settings = BM25Settings()
    hybrid: HybridSettings = HybridSettings()
    auto: AutoSettings = AutoSettings()
    weighted: WeightedSettings = WeightedSettings()
    rrf: RrfSettings = RrfSettings()
    recency: RecencySettings = RecencySettings()
    mode: str = _setting(
        "hybrid",
        choice("hybrid", "semantic", "keyword"),
        "Search by words and meaning, by meaning, or by words.",
    )
    fusion: str = _setting(
        "auto",
        choice("auto", "weighted", "staged", "rrf", "cascade"),
        "How the signals are combined; see docs/concepts/ranking.md.",
    )
    keyword: str = _setting(
        "bm25",
        choice("bm25", "fulltext"),
        "The signal for words; `fulltext` is the database's full-text search.",
    )
    rerank: RerankSettings = RerankSettings()
    expand: bool = _setting(
        False,
        flag,
        "Send each query to the model of `llm.endpoint` for more search words.",
        guard=Guard.AWAY,
    )
    min_score: float = _setting(
        0.1,
        _share,
        "Results with a lower `weighted` score are left out in `weighted` and `auto`, if meaning "
        "takes part.",
    )


@_section
class StoreSettings(NamedTuple):
    path: str = _setting(
        "memory.db",
        file_path,
        "Database file; a relative path starts at the memory's folder.",
        guard=Guard.OUTSIDE,
    )
    url: str = _setting(
        "",
        database_url,
        "A PostgreSQL server instead of the file: postgresql://USER@HOST:PORT/DATABASE. Keep the "
        "password in PGPASSWORD or ~/.pgpass.",
        guard=Guard.CHOICE,
    )
    schema: str = _setting(
        "aurora",
        schema_name,
        "The schema of that database that holds this memory; each memory has its own.",
        guard=Guard.CHOICE,
    )

    def __repr__(self) -> str:
        """Hide the address, which may hold a password, from tracebacks and logs."""
        url = "hidden" if self.url else ""
        return f"StoreSettings(path={self.path!r}, url={url!r}, schema={self.schema!r})"


@_section
class EmbeddingSettings(NamedTuple):
    provider: str = _setting(
        "aurora",
        word,
        "The embedding provider: aurora, onnx, sentence-transformers, openai, none, or the name of "
        "one that another package adds.",
        guard=Guard.CHOICE,
    )
    model: str = _setting(
        "",
        text,
        "One of the provider's models; if empty, the provider's default.",
        guard=Guard.CHOICE,
    )
    endpoint: str = _setting(
        "",
        address,
        "Where the openai provider sends texts, such as http://localhost:11434/v1; if empty, "
        "OpenAI.",
        guard=Guard.CHOICE,
    )
    query_prefix: str = _setting(
        "", text, "Text that the model expects before a query.", guard=Guard.CHOICE
    )
    document_prefix: str = _setting(
        "", text, "Text that the model expects before a document.", guard=Guard.CHOICE
    )


@_section
class IndexingSettings(NamedTuple):
    redact_secrets: bool = _setting(
        True,
        flag,
        "Replace keys, tokens and passwords by their kind before anything is stored; see "
        "docs/security.md.",
        guard=Guard.SAFETY,
    )
    workers: int = _setting(
        1,
        integer(minimum=1, maximum=1024),
        "No effect, kept for older settings files: one process embeds, with all processors. For "
        "several machines see `indexing.ray`.",
        unapproved_most=4,
    )
    ray: str = _setting(
        "",
        cluster,
        "HOST:PORT of a Ray cluster that embeds instead. It is sent the texts, and this machine "
        "must belong to it.",
        guard=Guard.CHOICE,
    )


@_section
class LlmSettings(NamedTuple):
    endpoint: str = _setting(
        "",
        address,
        "Where `search.expand` and `search.rerank.by: llm` send text, such as "
        "http://localhost:11434/v1; if empty, OpenAI.",
        guard=Guard.CHOICE,
    )
    model: str = _setting("", text, "One of its models; if empty, gpt-4o-mini.", guard=Guard.CHOICE)
    seconds: float = _setting(
        5.0,
        number(minimum=0.1, sane=600.0),
        "How long a search waits for the model before it continues without it.",
        unapproved_most=30,
    )


@_section
class UiSettings(NamedTuple):
    shown_search_format_notice: bool = _setting(
        False, flag, "True once the notice about the output format was shown."
    )
    default_search_format: str = _setting(
        "enhanced",
        choice("enhanced", "legacy"),
        "Columns of the results table: legacy leaves out Commits and Last Modified.",
    )
    links: str = _setting(
        "auto",
        link_pattern,
        "Clickable paths: auto for terminals known to support them, never, or an address for "
        "every terminal, such as vscode://file{path}:{line}.",
        guard=Guard.CHOICE,
    )


@_section
class Settings(NamedTuple):
    """All settings of one memory, checked."""

    search: SearchSettings = SearchSettings()
    store: StoreSettings = StoreSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    indexing: IndexingSettings = IndexingSettings()
    llm: LlmSettings = LlmSettings()
    ui: UiSettings = UiSettings()


def _leaves(section: NamedTuple, prefix: str) -> Iterator[Setting]:
    for name, declared in section._field_defaults.items():
        if isinstance(declared, Setting):
            yield declared._replace(key=f"{prefix}{name}")
        else:
            yield from _leaves(declared, f"{prefix}{name}.")


CATALOGUE: Mapping[str, Setting] = {leaf.key: leaf for leaf in _leaves(Settings(), "")}


def known_setting(key: str) -> Setting:
    """Return the setting with that key, or raise an error that lists similar keys."""
    if key not in CATALOGUE:
        from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped key

        near = get_close_matches(key, CATALOGUE)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(CATALOGUE)}"
        raise ConfigError(f"There is no setting {key!r}", hint=hint)
    return CATALOGUE[key]


def build_settings(values: Mapping[str, object]) -> Settings:
    """Build settings from checked values by dotted key; the others keep their default."""
    return _build(Settings(), values, "")


def _build(section: S, values: Mapping[str, object], prefix: str) -> S:
    changed = {}
    for name, declared in section._field_defaults.items():
        key, default = f"{prefix}{name}", getattr(section, name)
        leaf = isinstance(declared, Setting)
        changed[name] = values.get(key, default) if leaf else _build(default, values, f"{key}.")
    return section._replace(**changed)
