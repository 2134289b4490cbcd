"""What can be set: every setting with its default, its rule and its description, in one place.

A setting is declared once, here. Reading files and variables is left to `layers`, writing to
`edit`, and the rule that a cloned project may not choose everything to `trust`.

Rules for the values of settings: each takes what was read and returns it checked.

A wrong value is a `ValueError` whose text says what it must be; who set it is told by `layers`.
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

LONGEST_TEXT = 4096  # characters: the longest path, and more than any address or model needs


def number(
    *, minimum: float = -math.inf, maximum: float = math.inf, sane: float = math.inf
) -> Parse:
    """A finite number within bounds. The wording is seed 000's, FR-9.3.

    `sane` bounds what has no bound by its nature: beyond it, arithmetic would overflow.
    """
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
            raise ValueError("Must be an integer")  # noqa: TRY004 - a value of the user's
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


def word(raw: object) -> str:
    """A name as programs have them: small letters, digits and hyphens."""
    if not isinstance(raw, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", raw):
        raise ValueError("Must be a name of small letters, digits and hyphens")
    return text(raw)


def address(raw: object) -> str:
    """Where a server is, or nothing. A key in it would be shown and sent in the open."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be an address in one line")
    if raw and not re.match(r"https?://[^/?#@]+(/[^?#]*)?$", raw):
        raise ValueError("Must be http:// or https:// and a host, without a login or parameters")
    return text(raw)


def database_url(raw: object) -> str:
    """Where a PostgreSQL server is, or nothing."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be an address in one line")
    if raw and not re.match(r"postgres(ql)?://[^\s?]*(\?|$)", raw):
        raise ValueError("Must be postgresql://USER@HOST:PORT/DATABASE")
    return text(raw)


def schema_name(raw: object) -> str:
    if not isinstance(raw, str) or not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", raw):
        raise ValueError("Must be a name of small letters, digits and _")
    return raw


def cluster(raw: object) -> str:
    """Where a cluster's head listens, or nothing."""
    if not isinstance(raw, str) or not re.fullmatch(r"((\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5})?", raw):
        raise ValueError("Must be HOST:PORT")
    return text(raw)


def file_path(raw: object) -> str:
    try:
        path = Path(text(raw)).expanduser()  # of nobody's home: RuntimeError
    except RuntimeError as exc:
        raise ValueError("Must be a path") from exc
    if not raw or "\0" in str(path):
        raise ValueError("Must be a path")
    return text(raw)


def link_pattern(raw: object) -> str:
    """`auto`, `never`, or an address with `{path}` in it: it is written into a terminal."""
    if not isinstance(raw, str) or not raw.isprintable():
        raise ValueError("Must be a text in one line")
    if raw not in ("auto", "never") and "{path}" not in raw:
        raise ValueError("Must be auto, never or an address with {path} in it")
    return text(raw)


T = TypeVar("T")
S = TypeVar("S", bound=NamedTuple)


class Guard(Enum):
    """When a project's own file may not choose a setting until the user approves the file."""

    CHOICE = auto()  # models, endpoints, links: where text is sent, what code runs or is opened
    OUTSIDE = auto()  # paths: only when they lead out of the project
    AWAY = auto()  # only a value by which text is sent away; any other may be chosen
    SAFETY = auto()  # only what switches a protection off


class Setting(NamedTuple):
    """One leaf of the settings: its dotted key, default, rule, meaning and guard.

    `unapproved_most` is for what takes time or memory: the largest value that a project's own file
    may choose until the user approves the file.
    """

    key: str
    default: object
    parse: Parse
    help: str
    guard: Guard | None
    unapproved_most: float | None

    @property
    def variable(self) -> str:
        """The environment variable that sets it: search.bm25.k1 → AURORA_SEARCH_BM25_K1."""
        return "AURORA_" + self.key.replace(".", "_").upper()

    @property
    def may_hold_password(self) -> bool:
        """Whether a value that is refused may hold a password, in whatever form."""
        return self.parse is database_url

    def read(self, typed: str) -> object:
        """What was typed for it: text is taken to the letter, all else is YAML."""
        if self.parse in (text, file_path, word, address, database_url, schema_name, cluster):
            return typed
        return parse_yaml(typed.encode("utf-8", "surrogateescape"))


class _Declared(NamedTuple):
    """What is said of a setting where it is declared; its key follows from the place."""

    default: object
    parse: Parse
    help: str
    guard: Guard | None
    unapproved_most: float | None


def _setting(
    default: T,
    parse: Parse,
    help: str,  # noqa: A002
    *,
    guard: Guard | None = None,
    unapproved_most: float | None = None,
) -> T:
    return cast("T", _Declared(default, parse, help, guard, unapproved_most))


def _section(section: type[T]) -> type[T]:
    """Settings that belong together. The declarations stay in `_field_defaults`."""
    # Not dataclasses, because every command defines all of them, and each would take 1 ms.
    declared = section._field_defaults.values()  # type: ignore[attr-defined]
    plain = tuple(one.default if isinstance(one, _Declared) else one for one in declared)
    section.__new__.__defaults__ = plain
    return section


@_section
class BM25Settings(NamedTuple):
    k1: float = _setting(
        1.5,
        number(minimum=0.0, sane=1e6),
        "Term frequency saturation; 1.2–2.0 is typical.",
    )
    b: float = _setting(
        0.75, number(minimum=0.0, maximum=1.0), "Length normalisation; 0 ignores length."
    )
    idf: str = _setting(
        "lucene",
        choice("lucene", "robertson"),
        "`lucene` is ln(1 + (N−n+.5)/(n+.5)), never negative; `robertson` leaves out the 1.",
    )


@_section
class StageWeights(NamedTuple):
    semantic: float = _setting(
        0.5,
        number(minimum=0.0, maximum=1.0),
        "Weight of meaning in stage 2 of `staged`. When set, keyword only chooses (FR-2.1).",
    )
    activation: float = _setting(
        0.5, number(minimum=0.0, maximum=1.0), "Weight of use and change in stage 2, likewise."
    )


@_section
class HybridWeights(NamedTuple):
    bm25: float = _setting(0.3, number(minimum=0.0, maximum=1.0), "Weight of words in `staged`.")
    semantic: float = _setting(
        0.4, number(minimum=0.0, maximum=1.0), "Weight of meaning in `staged`."
    )
    activation: float = _setting(
        0.3, number(minimum=0.0, maximum=1.0), "Weight of use and change in `staged`."
    )


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
        number(minimum=0.0, maximum=1.0),
        "Meaning's share in `auto` where prose is found; words have the rest. If not set, it is "
        "the model's own.",
    )
    code: float = _setting(0.8, number(minimum=0.0, maximum=1.0), "Likewise where code is found.")
    activation: float = _setting(
        0.3,
        number(minimum=0.0, maximum=1.0),
        "Share of use and change in `auto`, beside both.",
    )


@_section
class WeightedSettings(NamedTuple):
    semantic: float = _setting(
        0.7,
        number(minimum=0.0, maximum=1.0),
        "Meaning's share in `weighted`; words have the rest. If not set, a small model has less. "
        "Set without `search.fusion`, it chooses `weighted`.",
    )
    activation: float = _setting(
        0.05,
        number(minimum=0.0, maximum=1.0),
        "Share of use and change in `weighted`, beside both.",
    )


@_section
class RrfSettings(NamedTuple):
    k: int = _setting(
        60,
        integer(minimum=1, maximum=1_000_000_000),
        "The larger, the less the first places stand out.",
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
        "Who looks at the first 20 results again: `local` is a model of the extra `onnx`, `llm` "
        "the model of `llm.endpoint`, which is sent a part of each.",
        guard=Guard.AWAY,
    )
    when: str = _setting(
        "always",
        choice("always", "unsure"),
        "Always, or only when the first search is not sure of itself.",
    )
    seconds: float = _setting(
        2.0,
        number(minimum=0.0, sane=3600.0),
        "How long `local` may take; then the rest stays.",
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
        "hybrid", choice("hybrid", "semantic", "keyword"), "By what a search finds."
    )
    fusion: str = _setting(
        "auto",
        choice("auto", "weighted", "staged", "rrf", "cascade"),
        "How the signals are combined; see docs/concepts/ranking.md.",
    )
    keyword: str = _setting(
        "bm25",
        choice("bm25", "fulltext"),
        "Which signal finds by words; `fulltext` is the database's.",
    )
    rerank: RerankSettings = RerankSettings()
    expand: bool = _setting(
        False,
        flag,
        "Whether the model of `llm.endpoint` is sent each query, for more words to search for.",
        guard=Guard.AWAY,
    )
    min_score: float = _setting(
        0.1,
        number(minimum=0.0, maximum=1.0),
        "What scores less in `weighted` is no answer in it and in `auto`, if meaning takes part.",
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
        "A PostgreSQL server in place of the file: postgresql://USER@HOST:PORT/DATABASE. Keep the "
        "password in PGPASSWORD or ~/.pgpass.",
        guard=Guard.CHOICE,
    )
    schema: str = _setting(
        "aurora",
        schema_name,
        "The schema of that database that is this memory; each memory has its own.",
        guard=Guard.CHOICE,
    )

    def __repr__(self) -> str:
        """The address may hold a password, and a traceback or a log shows this."""
        url = "hidden" if self.url else ""
        return f"StoreSettings(path={self.path!r}, url={url!r}, schema={self.schema!r})"


@_section
class EmbeddingSettings(NamedTuple):
    provider: str = _setting(
        "aurora",
        word,
        "Who makes vectors of texts: aurora, static, onnx, sentence-transformers, openai, none, or "
        "one that another package brings.",
        guard=Guard.CHOICE,
    )
    model: str = _setting(
        "", text, "Which of the provider's models; empty is its own choice.", guard=Guard.CHOICE
    )
    endpoint: str = _setting(
        "",
        address,
        "Where the openai provider sends texts, such as http://localhost:11434/v1; empty is "
        "OpenAI's own.",
        guard=Guard.CHOICE,
    )
    query_prefix: str = _setting(
        "", text, "What the model wants before a question.", guard=Guard.CHOICE
    )
    document_prefix: str = _setting(
        "", text, "What the model wants before a text that is to be found.", guard=Guard.CHOICE
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
        "HOST:PORT of a Ray cluster that embeds instead, and is sent the texts; this machine must "
        "be one of it.",
        guard=Guard.CHOICE,
    )


@_section
class LlmSettings(NamedTuple):
    endpoint: str = _setting(
        "",
        address,
        "Where `search.expand` and `search.rerank.by: llm` send text, such as "
        "http://localhost:11434/v1; empty is OpenAI's own.",
        guard=Guard.CHOICE,
    )
    model: str = _setting(
        "", text, "Which of its models; empty is gpt-4o-mini.", guard=Guard.CHOICE
    )
    seconds: float = _setting(
        5.0,
        number(minimum=0.1, sane=600.0),
        "How long a search waits for an answer; then it goes on without.",
        unapproved_most=30,
    )


@_section
class UiSettings(NamedTuple):
    shown_search_format_notice: bool = _setting(
        False, flag, "Whether the notice about the output format was shown; it comes once."
    )
    default_search_format: str = _setting(
        "enhanced",
        choice("enhanced", "legacy"),
        "Columns of the results table: legacy leaves out Commits and Last Modified.",
    )
    links: str = _setting(
        "auto",
        link_pattern,
        "Clickable paths: auto where the terminal is known to have them, never, or an address for "
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
        if isinstance(declared, _Declared):
            yield Setting(f"{prefix}{name}", *declared)
        else:
            yield from _leaves(declared, f"{prefix}{name}.")


CATALOGUE: Mapping[str, Setting] = {leaf.key: leaf for leaf in _leaves(Settings(), "")}


def known_setting(key: str) -> Setting:
    """The setting of that name, or an error that names those like it, or all there are."""
    if key not in CATALOGUE:
        from difflib import get_close_matches  # noqa: PLC0415 - only for who mistyped

        near = get_close_matches(key, CATALOGUE)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(CATALOGUE)}"
        raise ConfigError(f"There is no setting {key!r}", hint=hint)
    return CATALOGUE[key]


def build_settings(values: Mapping[str, object]) -> Settings:
    """Settings from parsed values by dotted key; what is not given keeps its default."""
    return _build(Settings(), values, "")


def _build(section: S, values: Mapping[str, object], prefix: str) -> S:
    changed = {}
    for name, declared in section._field_defaults.items():
        key, default = f"{prefix}{name}", getattr(section, name)
        leaf = isinstance(declared, _Declared)
        changed[name] = values.get(key, default) if leaf else _build(default, values, f"{key}.")
    return section._replace(**changed)
