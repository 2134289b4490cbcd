"""Every setting: its default in `Settings`, its rule and its description in `CATALOGUE`.

A rule takes a value as it was read and returns the checked value. A wrong value is a `ValueError`
that says what the value must be. `ALIASES` are names of settings from other documents. They are
accepted at the top of a file, in its `search` section, and as `AURORA_…`.

Reading files and variables is left to `load`, writing to `edit`, and the limits on unapproved
project files, too.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import TypeAlias, TypeVar

from aurora.config.yaml import parse_yaml
from aurora.errors import ConfigError
from aurora.quick_classes import NamedTuple

Parse: TypeAlias = Callable[[object], object]
S = TypeVar("S", bound=NamedTuple)

_LARGEST = sys.float_info.max
LONGEST_TEXT = 4096  # characters: the longest path, and more than any address or model needs


# Rules


def number(
    *, minimum: float = -math.inf, maximum: float = math.inf, sane: float = math.inf
) -> Parse:
    """A finite number within bounds. `sane` bounds values whose arithmetic would overflow."""
    bounded = maximum < math.inf
    rule = f"Must be in [{minimum}, {maximum}]" if bounded else f"Must be ≥ {minimum}"

    def parse(raw: object) -> float:
        # By comparison: an integer may be beyond every float.
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not abs(raw) <= _LARGEST:
            raise ValueError("Must be a number")
        if not minimum <= raw <= maximum:
            raise ValueError(rule)
        if raw > sane:
            raise ValueError(f"Must be ≤ {sane:g}")
        return float(raw)

    return parse


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


def _matching(pattern: str, rule: str, *, in_one_line: str = "") -> Parse:
    """Text that matches the pattern. `in_one_line` is the error for control characters."""

    def parse(raw: object) -> str:
        if in_one_line and not (isinstance(raw, str) and raw.isprintable()):
            raise ValueError(in_one_line)
        if not isinstance(raw, str) or not re.fullmatch(pattern, raw):
            raise ValueError(rule)
        return text(raw)

    return parse


word = _matching(r"[a-z0-9][a-z0-9_-]*", "Must be a name of small letters, digits and hyphens")
schema_name = _matching(
    r"(?!pg_)[a-z_][a-z0-9_]{0,62}", "Must be a name of small letters, digits and _"
)
cluster = _matching(r"((\[[\da-fA-F:]+\]|[\w.-]+):\d{1,5})?", "Must be HOST:PORT")
# No login or parameters: a key in the address would be shown, and sent unencrypted.
address = _matching(
    r"(https?://[^/?#@]+(/[^?#]*)?)?",
    "Must be http:// or https:// and a host, without a login or parameters",
    in_one_line="Must be an address in one line",
)
database_url = _matching(
    r"(postgres(ql)?://[^\s?]*(\?.*)?)?",
    "Must be postgresql://USER@HOST:PORT/DATABASE",
    in_one_line="Must be an address in one line",
)
# It is written to a terminal.
link_pattern = _matching(
    r"auto|never|.*\{path\}.*",
    "Must be auto, never or an address with {path} in it",
    in_one_line="Must be a text in one line",
)


def file_path(raw: object) -> str:
    try:
        path = Path(text(raw)).expanduser()
    except RuntimeError as exc:  # `~` of an unknown user
        raise ValueError("Must be a path") from exc
    if not raw or "\0" in str(path):
        raise ValueError("Must be a path")
    return text(raw)


_share = number(minimum=0.0, maximum=1.0)
_LITERAL = (text, file_path, word, address, database_url, schema_name, cluster)  # never YAML


# Settings. NamedTuples, because every command defines them all, and a dataclass takes 1 ms.


class BM25Settings(NamedTuple):
    k1: float = 1.5
    b: float = 0.75
    idf: str = "lucene"


class HybridWeights(NamedTuple):
    bm25: float = 0.3
    semantic: float = 0.4
    activation: float = 0.3


class StageWeights(NamedTuple):
    semantic: float = 0.5
    activation: float = 0.5


class HybridSettings(NamedTuple):
    stage1_top_k: int = 100
    weights: HybridWeights = HybridWeights()
    stage2_weights: StageWeights = StageWeights()


class AutoSettings(NamedTuple):
    prose: float = 0.3
    code: float = 0.75
    activation: float = 0.15


class WeightedSettings(NamedTuple):
    semantic: float = 0.7
    activation: float = 0.05


class RrfSettings(NamedTuple):
    k: int = 60


class RecencySettings(NamedTuple):
    half_life: float = 30.0


class RerankSettings(NamedTuple):
    by: str = "none"
    when: str = "always"
    seconds: float = 2.0


class SearchSettings(NamedTuple):
    bm25: BM25Settings = BM25Settings()
    hybrid: HybridSettings = HybridSettings()
    auto: AutoSettings = AutoSettings()
    weighted: WeightedSettings = WeightedSettings()
    rrf: RrfSettings = RrfSettings()
    recency: RecencySettings = RecencySettings()
    mode: str = "hybrid"
    fusion: str = "auto"
    keyword: str = "bm25"
    rerank: RerankSettings = RerankSettings()
    expand: bool = False
    min_score: float = 0.1
    limit: int = 10


class StoreSettings(NamedTuple):
    path: str = "memory.db"
    url: str = ""
    schema: str = "aurora"

    def __repr__(self) -> str:
        """Hide the address, which may hold a password, from tracebacks and logs."""
        url = "hidden" if self.url else ""
        return f"StoreSettings(path={self.path!r}, url={url!r}, schema={self.schema!r})"


class EmbeddingSettings(NamedTuple):
    provider: str = "aurora"
    model: str = ""
    endpoint: str = ""
    query_prefix: str = ""
    document_prefix: str = ""


class IndexingSettings(NamedTuple):
    auto: bool = True
    redact_secrets: bool = True
    workers: int = 1
    ray: str = ""


class LlmSettings(NamedTuple):
    endpoint: str = ""
    model: str = ""
    seconds: float = 5.0


class HooksSettings(NamedTuple):
    budget: int = 400
    sessions: bool = False


class McpSettings(NamedTuple):
    idle_minutes: float = 60.0
    workers: int = 2


class UiSettings(NamedTuple):
    shown_search_format_notice: bool = False
    default_search_format: str = "enhanced"
    view: str = "lines"
    links: str = "auto"


class Settings(NamedTuple):
    """All settings of one memory, checked."""

    search: SearchSettings = SearchSettings()
    store: StoreSettings = StoreSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    indexing: IndexingSettings = IndexingSettings()
    llm: LlmSettings = LlmSettings()
    hooks: HooksSettings = HooksSettings()
    mcp: McpSettings = McpSettings()
    ui: UiSettings = UiSettings()


def value_of(settings: Settings, key: str) -> object:
    """Return the value of a dotted key."""
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


# Their descriptions


class Guard(Enum):
    """When a project file may not choose a setting until the user approves the file."""

    CHOICE = auto()  # always: models, endpoints, links decide where text is sent and what runs
    OUTSIDE = auto()  # a path that leads out of the memory's folder
    AWAY = auto()  # a value that sends text to another machine
    SAFETY = auto()  # a value that switches a protection off


class Setting(NamedTuple):
    """One setting: its dotted key, rule, description and guard.

    `unapproved_most` is the largest value that a project file may choose before approval, for
    settings that take time or memory.
    """

    key: str
    parse: Parse
    help: str
    guard: Guard | None = None
    unapproved_most: float | None = None

    @property
    def default(self) -> object:
        return value_of(Settings(), self.key)

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


_SETTINGS = (
    Setting("search.bm25.k1", number(minimum=0.0, sane=1e6),
            "Term frequency saturation; 1.2–2.0 is typical."),
    Setting("search.bm25.b", _share, "Length normalisation; 0 ignores length."),
    Setting("search.bm25.idf", choice("lucene", "robertson"),
            "`lucene` is ln(1 + (N−n+.5)/(n+.5)), never negative; `robertson` leaves out the 1."),
    Setting("search.hybrid.stage1_top_k", integer(minimum=10, maximum=1_000_000),
            "Candidates taken from each signal.", unapproved_most=1_000),
    Setting("search.hybrid.weights.bm25", _share, "Weight of words in `staged`."),
    Setting("search.hybrid.weights.semantic", _share, "Weight of meaning in `staged`."),
    Setting("search.hybrid.weights.activation", _share, "Weight of use and change in `staged`."),
    Setting("search.hybrid.stage2_weights.semantic", _share,
            "Weight of meaning in stage 2 of `staged`. If set, keywords only select candidates."),
    Setting("search.hybrid.stage2_weights.activation", _share,
            "Weight of use and change in stage 2 of `staged`. If set, keywords only "
            "select candidates."),
    Setting("search.auto.prose", _share,
            "Share of meaning in `auto` for prose; words have the rest. If not set, the embedding "
            "model decides."),
    Setting("search.auto.code", _share,
            "Share of meaning in `auto` for code; words have the rest. If not set, the embedding "
            "model decides."),
    Setting("search.auto.activation", _share,
            "Share of use and change in `auto`, in addition to both."),
    Setting("search.weighted.semantic", _share,
            "Share of meaning in `weighted`; words have the rest. If not set, a small model has "
            "less. If set without `search.fusion`, `weighted` is used."),
    Setting("search.weighted.activation", _share,
            "Share of use and change in `weighted`, in addition to both."),
    Setting("search.rrf.k", integer(minimum=1, maximum=1_000_000_000),
            "A larger value gives the first places less weight."),
    Setting("search.recency.half_life", number(minimum=0.01, sane=1e6),
            "Days after which a dated note counts half, in `auto` and `weighted`."),
    Setting("search.mode", choice("hybrid", "semantic", "keyword"),
            "Search by words and meaning, by meaning, or by words."),
    Setting("search.fusion", choice("auto", "weighted", "staged", "rrf", "cascade"),
            "How the signals are combined; see docs/concepts/ranking.md."),
    Setting("search.keyword", choice("bm25", "fulltext"),
            "The signal for words; `fulltext` is the database's full-text search."),
    Setting("search.rerank.by", choice("none", "local", "llm"),
            "Reranks the first 20 results: `local` with a model of the extra `onnx`, "
            "`llm` with the model of `llm.endpoint`, which is sent a part of each.", Guard.AWAY),
    Setting("search.rerank.when", choice("always", "unsure"),
            "`always`, or `unsure`: only when the first result does not stand out."),
    Setting("search.rerank.seconds", number(minimum=0.0, sane=3600.0),
            "Time limit of `local`; results not reached keep their place.", unapproved_most=10),
    Setting("search.expand", flag,
            "Send each query to the model of `llm.endpoint` for more search words.", Guard.AWAY),
    Setting("search.min_score", _share,
            "The lowest confidence that the memory answers a query at all, unless the first result "
            "contains every word of it; below it, nothing is relevant. Half of it for prose."),
    Setting("search.limit", integer(minimum=1, maximum=100_000),
            "How many results a search gives, unless it says so itself.", unapproved_most=1_000),
    Setting("store.path", file_path,
            "Database file; a relative path starts at the memory's folder.", Guard.OUTSIDE),
    Setting("store.url", database_url,
            "A PostgreSQL server instead of the file: postgresql://USER@HOST:PORT/DATABASE. Keep "
            "the password in PGPASSWORD or ~/.pgpass.", Guard.CHOICE),
    Setting("store.schema", schema_name,
            "The schema of that database that holds this memory; each memory has its own.",
            Guard.CHOICE),
    Setting("embedding.provider", word,
            "The embedding provider: aurora, onnx, sentence-transformers, openai, "
            "none, or the name of one that another package adds.", Guard.CHOICE),
    Setting("embedding.model", text,
            "One of the provider's models; if empty, the provider's default.", Guard.CHOICE),
    Setting("embedding.endpoint", address,
            "Where the openai provider sends texts, such as http://localhost:11434/v1; if empty, "
            "OpenAI.", Guard.CHOICE),
    Setting("embedding.query_prefix", text,
            "Text that the model expects before a query.", Guard.CHOICE),
    Setting("embedding.document_prefix", text,
            "Text that the model expects before a document.", Guard.CHOICE),
    Setting("indexing.auto", flag,
            "Before a search, read the indexed files that changed, for up to a second. Files of "
            "results are checked in any case; see docs/guide/memories.md."),
    Setting("indexing.redact_secrets", flag,
            "Replace keys, tokens and passwords by their kind before anything is "
            "stored; see docs/security.md.", Guard.SAFETY),
    Setting("indexing.workers", integer(minimum=1, maximum=1024),
            "No effect, kept for older settings files: one process embeds, "
            "with all processors. For several machines see `indexing.ray`.", unapproved_most=4),
    Setting("indexing.ray", cluster,
            "HOST:PORT of a Ray cluster that embeds instead. It is sent the texts, "
            "and this machine must belong to it.", Guard.CHOICE),
    Setting("llm.endpoint", address,
            "Where `search.expand` and `search.rerank.by: llm` send text, such as "
            "http://localhost:11434/v1; if empty, OpenAI.", Guard.CHOICE),
    Setting("llm.model", text, "One of its models; if empty, gpt-4o-mini.", Guard.CHOICE),
    Setting("llm.seconds", number(minimum=0.1, sane=600.0),
            "How long a search waits for the model before it continues without it.",
            unapproved_most=30),
    Setting("hooks.budget", integer(minimum=100, maximum=10_000),
            "The most tokens that `aur hook` gives an agent at one event.", unapproved_most=1_000),
    Setting("hooks.sessions", flag,
            "Read a session at its end also of an agent whose sessions were never imported.",
            Guard.CHOICE),
    Setting("mcp.idle_minutes", number(minimum=0.0, sane=1e6),
            "`aur mcp` ends when no client has asked for so many minutes; 0 is never. A server "
            "for others (`--http` with `--host`, `--allow-host` or `--trusted-proxy`) runs on."),
    Setting("mcp.workers", integer(minimum=0, maximum=64),
            "The most processes that answer searches of `aur mcp --http` when clients ask at the "
            "same time, never more than processors; 0 is none. On PostgreSQL there are none.",
            unapproved_most=2),
    Setting("ui.shown_search_format_notice", flag,
            "True once the notice about the output format was shown."),
    Setting("ui.default_search_format", choice("enhanced", "legacy"),
            "`legacy` prints a table without the columns Commits and Last Modified."),
    Setting("ui.view", choice("lines", "table"),
            "How results are printed: `lines` with `path:line` and the matching text, or `table` "
            "with seven columns where they fit."),
    Setting("ui.links", link_pattern,
            "Clickable paths: auto for terminals known to support them, never, or "
            "an address for every terminal, such as vscode://file{path}:{line}.", Guard.CHOICE),
)  # fmt: skip
CATALOGUE: Mapping[str, Setting] = {setting.key: setting for setting in _SETTINGS}


# Other names


class Alias(NamedTuple):
    """Another name of a setting; `value` translates values that are written otherwise."""

    key: str
    value: Callable[[object], object] = lambda raw: raw


def _as_mode(is_hybrid: object) -> object:
    modes = {True: "hybrid", False: "semantic"}
    return modes[is_hybrid] if isinstance(is_hybrid, bool) else is_hybrid


def rest_of(share: object) -> object:
    """The share of meaning for a share of words; the setting refuses all else."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        return share
    return round(1.0 - share, 12)


ALIASES: Mapping[str, Alias] = {
    "enable_hybrid_search": Alias("search.mode", _as_mode),
    "hybrid_search_alpha": Alias("search.weighted.semantic"),
    "vector_weight": Alias("search.weighted.semantic"),
    "keyword_weight": Alias("search.weighted.semantic", rest_of),
    "bm25_k1": Alias("search.bm25.k1"),
    "bm25_b": Alias("search.bm25.b"),
    "half_life": Alias("search.recency.half_life"),
    "min_score": Alias("search.min_score"),
    "max_results": Alias("search.limit"),
    "index.auto": Alias("indexing.auto"),
}


def known_setting(key: str) -> Setting:
    """Return the setting with that key, or raise an error that lists similar keys."""
    if key not in CATALOGUE and "." in key and key in ALIASES:
        key = ALIASES[key].key
    if key not in CATALOGUE:
        name = key.removeprefix("search.")
        near = [ALIASES[name].key] if name in ALIASES else nearest_keys(key, CATALOGUE)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(CATALOGUE)}"
        raise ConfigError(f"There is no setting {key!r}", hint=hint)
    return CATALOGUE[key]


def nearest_keys(key: str, keys: Iterable[str]) -> list[str]:
    """Up to three keys that a mistyped key may mean, the nearest first."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped key

    return get_close_matches(key, keys)


def build_settings(values: Mapping[str, object]) -> Settings:
    """Build settings from checked values by dotted key; the others keep their default."""
    return _build(Settings(), values, "")


def _build(section: S, values: Mapping[str, object], prefix: str) -> S:
    changed = {}
    for name, default in section._asdict().items():
        key = f"{prefix}{name}"
        is_leaf = key in CATALOGUE
        changed[name] = values.get(key, default) if is_leaf else _build(default, values, f"{key}.")
    return section._replace(**changed)
