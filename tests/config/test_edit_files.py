"""What happens to the file itself when a setting is written: links, modes, refusals; a property."""

from __future__ import annotations

import tempfile
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.config.edit import set_value
from aurora.config.schema import CATALOGUE
from aurora.config.yaml import parse_yaml
from aurora.errors import ConfigError
from tests.config.world import World

K1 = "search.bm25.k1"
MINE = "search:\n  bm25:\n    k1: 2  # mine\n"


@pytest.mark.parametrize(
    ("source", "key", "raw", "message"),
    [
        pytest.param(MINE, K1, "-1", f"Invalid value for {K1}: Must be ≥ 0.0 (got -1)", id="range"),
        pytest.param(MINE, K1, "x", f"Invalid value for {K1}: Must be a number (got x)", id="kind"),
        pytest.param(MINE, K1, "[", f"Invalid value for {K1}: line 1, column 2: ", id="no-value"),
        pytest.param(MINE, "search.k1", "1", "There is no setting 'search.k1'", id="no-setting"),
        pytest.param(MINE, "search", "1", "There is no setting 'search'", id="a-section"),
        pytest.param("a: [\n", K1, "1.2", "Invalid config in ~/.aurora/config.yml:\n  - line 2"),
        pytest.param("- a\n", K1, "1.2", "Invalid config in ~/.aurora/config.yml:\n  - Must hold"),
        pytest.param("a: 1\na: 2\n", K1, "1.2", "Invalid config in ~/.aurora/config.yml:\n  - "),
        pytest.param(b"\xff\n", K1, "1.2", "Cannot read ~/.aurora/config.yml: ", id="not-utf-8"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_file_untouched(
    world: World, source: str | bytes, key: str, raw: str, message: str
) -> None:
    """The error says why; no byte changes and no scratch file stays."""
    world.write(user=source)
    before = world.user_file.read_bytes()
    with pytest.raises(ConfigError) as caught:
        set_value(world.user_file, key, raw)
    assert caught.value.message.startswith(message)
    assert world.user_file.read_bytes() == before
    assert list(world.home.iterdir()) == [world.user_file]


def test_a_refused_value_makes_no_file(world: World) -> None:
    """Where there was nothing there is nothing."""
    with pytest.raises(ConfigError):
        set_value(world.user_file, K1, "-1")
    assert list(world.root.iterdir()) == []


def test_the_value_understood_is_returned(world: World) -> None:
    """A whole number for a float setting is a float."""
    assert repr(set_value(world.user_file, K1, "2")) == "2.0"
    assert set_value(world.user_file, "ui.shown_search_format_notice", "true") is True


def test_a_new_file_belongs_to_the_user_alone(world: World) -> None:
    """It may come to hold an address or a key: 0600, in a folder of 0700."""
    file = world.root / "moved" / "home" / "config.yml"
    set_value(file, K1, "1.2")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664], ids=oct)
def test_the_mode_of_a_file_is_kept(world: World, mode: int) -> None:
    """Neither opened to others nor closed to a group that shared it."""
    world.write(user=MINE)
    world.user_file.chmod(mode)
    set_value(world.user_file, K1, "1.2")
    assert world.user_file.stat().st_mode & 0o777 == mode


def test_a_link_stays_a_link(world: World) -> None:
    """Settings kept among one's dotfiles are written there."""
    kept = world.root / "dotfiles" / "aurora.yml"
    kept.parent.mkdir()
    kept.write_text(MINE, encoding="utf-8")
    world.home.mkdir()
    world.user_file.symlink_to("../dotfiles/aurora.yml")
    set_value(world.user_file, K1, "1.2")
    assert world.user_file.readlink() == Path("../dotfiles/aurora.yml")
    assert kept.read_text(encoding="utf-8") == MINE.replace("k1: 2", "k1: 1.2")
    assert list(kept.parent.iterdir()) == [kept]


def test_a_place_that_cannot_be_written_is_an_error(world: World) -> None:
    """A file where the folder should be."""
    world.home.write_text("in the way", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"Cannot (read|write) ~/\.aurora/config\.yml"):
        set_value(world.user_file, K1, "1.2")


@pytest.mark.timeout(30)
def test_a_line_of_blanks_is_read_once(world: World) -> None:
    world.write(user=f"search:\n  bm25:\n    k1: 1.5{' ' * 200_000}b#\n")
    set_value(world.user_file, K1, "1.2")
    assert world.load().settings.search.bm25.k1 == 1.2


# From here on: files of random known settings, in random style.

words = st.from_regex(r"[a-z]{2,5}(/[a-z]{2,5})?\.db", fullmatch=True)
fractions = st.floats(0, 1, allow_nan=False)
VALUES: dict[str, st.SearchStrategy[object]] = {
    K1: st.floats(0, 1e6, allow_nan=False),
    "search.bm25.b": fractions,
    "search.bm25.idf": st.sampled_from(["lucene", "robertson"]),
    "search.hybrid.stage1_top_k": st.integers(10, 10**6),
    "search.limit": st.integers(1, 10**5),
    "hooks.budget": st.integers(100, 10**4),
    "mcp.idle_minutes": st.floats(0, 1e6),
    "mcp.workers": st.integers(0, 64),
    "hooks.sessions": st.booleans(),
    "search.hybrid.weights.bm25": fractions,
    "search.hybrid.weights.semantic": fractions,
    "search.hybrid.weights.activation": fractions,
    "search.hybrid.stage2_weights.semantic": fractions,
    "search.hybrid.stage2_weights.activation": fractions,
    "search.auto.prose": fractions,
    "search.auto.code": fractions,
    "search.auto.activation": fractions,
    "search.weighted.semantic": fractions,
    "search.weighted.activation": fractions,
    "search.rrf.k": st.integers(1, 10**9),
    "search.recency.half_life": st.floats(0.01, 1e6, allow_nan=False),
    "search.mode": st.sampled_from(["hybrid", "semantic", "keyword"]),
    "search.fusion": st.sampled_from(["auto", "weighted", "staged", "rrf", "cascade"]),
    "search.keyword": st.sampled_from(["bm25", "fulltext"]),
    "search.min_score": fractions,
    "store.path": words,
    "store.url": st.sampled_from(
        ["postgresql://ada@db/memory", "postgres://a,b/x?sslmode=require"]
    ),
    "store.schema": st.from_regex(r"[a-o_][a-z0-9_]{0,20}", fullmatch=True),
    "search.rerank.by": st.sampled_from(["none", "local", "llm"]),
    "search.rerank.when": st.sampled_from(["always", "unsure"]),
    "search.expand": st.booleans(),
    "indexing.auto": st.booleans(),
    "indexing.workers": st.integers(1, 64),
    "indexing.redact_secrets": st.booleans(),
    "indexing.ray": st.integers(1, 65535).map("10.0.0.5:{}".format),
    "llm.endpoint": words.map("http://{}:8080/v1".format),
    "llm.model": words,
    "llm.seconds": st.floats(0.1, 600, allow_nan=False),
    "search.rerank.seconds": st.floats(0, 3600, allow_nan=False),
    "embedding.provider": st.sampled_from(["static", "none", "some-other"]),
    "embedding.model": words,
    "embedding.endpoint": words.map("http://{}:8080/v1".format),
    "embedding.query_prefix": words,
    "embedding.document_prefix": words,
    "ui.shown_search_format_notice": st.booleans(),
    "ui.view": st.sampled_from(["lines", "table"]),
    "ui.default_search_format": st.sampled_from(["enhanced", "legacy"]),
    "ui.links": words.map("x:{{path}}{}".format) | st.sampled_from(["auto", "never"]),
}
comments = st.text("ab1 :#'\"-{}[],|>&*!é中", max_size=12).map(lambda text: f"#{text}".rstrip())
comment_lines = st.builds(lambda spaces, text: " " * spaces + text, st.integers(0, 9), comments)


def written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def nested(flat: dict[str, object]) -> dict[str, object]:
    """A tree of sections from values by dotted key."""
    tree: dict[str, object] = {}
    for key, value in flat.items():
        *sections, name = key.split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})  # type: ignore[assignment]
        branch[name] = value
    return tree


@st.composite
def sources(draw: st.DrawFn, tree: dict[str, object], indent: int, depth: int = 0) -> list[str]:
    """Lines of YAML for a tree: comments and blank lines anywhere, values in any quotes."""
    lines: list[str] = []
    for name, value in tree.items():
        lines += draw(st.lists(comment_lines | st.just(""), max_size=2))
        tail = draw(st.just("") | comments.map(lambda text: f"  {text}"))
        head = f"{' ' * indent * depth}{name}:"
        if isinstance(value, dict):
            lines += [head + tail, *draw(sources(value, indent, depth + 1))]
        else:
            quote = draw(st.sampled_from(["", "'", '"'])) if isinstance(value, str) else ""
            lines.append(f"{head} {quote}{written(value)}{quote}{tail}")
    return lines


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, object], list[str], str, object]:
    """Settings, a file that holds them, and one key with a new value for it."""
    keys = draw(st.lists(st.sampled_from(list(VALUES)), unique=True))
    flat = {key: draw(VALUES[key]) for key in keys}
    lines = draw(sources(nested(flat), draw(st.sampled_from([1, 2, 3, 4]))))
    key = draw(st.sampled_from(list(VALUES)))
    return flat, lines + draw(st.lists(comment_lines, max_size=2)), key, draw(VALUES[key])


def shared(a: list[str], b: list[str]) -> int:
    """How many lines two texts have in common before the first that differs."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))))


def replaced(before: list[str], after: list[str]) -> list[str]:
    """The old lines between what both texts start with and what both end with."""
    start = shared(before, after)
    end = shared(before[start:][::-1], after[start:][::-1])
    return before[start : len(before) - end]


def test_the_property_knows_every_setting() -> None:
    """A new setting must be added to the table above."""
    assert set(VALUES) == set(CATALOGUE)


@settings(deadline=None)
@given(edits())
def test_setting_any_key_changes_that_key_and_nothing_else(
    edit: tuple[dict[str, object], list[str], str, object],
) -> None:
    """The file parses to the old tree plus the value; all other lines stay, in their order."""
    flat, lines, key, value = edit
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yml"
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        assert (parse_yaml(file.read_bytes()) or {}) == nested(flat)
        set_value(file, key, written(value))
        content = file.read_bytes()
    assert parse_yaml(content) == nested(flat | {key: value})
    removed = replaced(lines, content.decode().splitlines())
    assert len(removed) <= (key in flat)
    assert [line for line in removed if line.lstrip().startswith("#")] == []
