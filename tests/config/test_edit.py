"""Writing one setting into a person's file: the file stays theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from aurora.config.edit import set_value
from aurora.config.yaml import parse_yaml
from aurora.errors import ConfigError
from tests.config.world import APPENDIX_C, World

K1 = "search.bm25.k1"


def edited(folder: Path, source: str, key: str, raw: str) -> str:
    """The text of a file after one setting was set in it, line ends as they are."""
    file = folder / "edited.yml"
    file.write_bytes(source.encode())
    set_value(file, key, raw)
    return file.read_bytes().decode()


def parts(text: str) -> list[str]:
    """Whole lines, and the comments at their ends."""
    return [part for line in text.splitlines() for part in (line, "#" + line.partition("#")[2])]


@pytest.mark.parametrize(
    ("key", "raw", "before", "after"),
    [
        pytest.param(K1, "1.2", "k1: 1.5          # Term", "k1: 1.2          # Term", id="number"),
        pytest.param("search.hybrid.stage1_top_k", "50", "top_k: 100", "top_k: 50", id="integer"),
        pytest.param("ui.shown_search_format_notice", "false", "notice: true", "notice: false"),
        pytest.param("ui.default_search_format", "legacy", '"enhanced"  # "en', 'legacy  # "en'),
    ],
)
def test_only_the_value_changes_where_the_key_stands(
    tmp_path: Path, key: str, raw: str, before: str, after: str
) -> None:
    """Comments, order, quotes and indentation of the whole Appendix C stay, to the letter."""
    assert APPENDIX_C.count(before) == 1
    assert edited(tmp_path, APPENDIX_C, key, raw) == APPENDIX_C.replace(before, after)


@pytest.mark.parametrize(
    ("source", "key", "expected"),
    [
        pytest.param("", K1, "search:\n  bm25:\n    k1: 0.4\n", id="empty-file"),
        pytest.param("# mine\n", K1, "# mine\nsearch:\n  bm25:\n    k1: 0.4\n", id="comment-only"),
        pytest.param(
            "search:\n  bm25:\n    b: 0.5\n  # of search\n\n# of ui\nui:\n",
            K1,
            "search:\n  bm25:\n    b: 0.5\n    k1: 0.4\n  # of search\n\n# of ui\nui:\n",
            id="beside-its-sibling",
        ),
        pytest.param(
            "search:\n  hybrid:\n    stage1_top_k: 50\nui:\n",
            K1,
            "search:\n  hybrid:\n    stage1_top_k: 50\n  bm25:\n    k1: 0.4\nui:\n",
            id="section-in-a-section",
        ),
        pytest.param(
            "search:  # later\n",
            K1,
            "search:  # later\n  bm25:\n    k1: 0.4\n",
            id="empty-section",
        ),
        pytest.param(
            "search:\n    hybrid:\n        stage1_top_k: 50\n",
            "search.hybrid.stage2_weights.semantic",
            "search:\n    hybrid:\n        stage1_top_k: 50\n"
            "        stage2_weights:\n            semantic: 0.4\n",
            id="four-spaces",
        ),
        pytest.param(
            "ui:\n    default_search_format: legacy\n",
            K1,
            "ui:\n    default_search_format: legacy\nsearch:\n    bm25:\n        k1: 0.4\n",
            id="four-spaces-new-section",
        ),
        pytest.param(
            "search:\n    bm25:\n",
            K1,
            "search:\n    bm25:\n        k1: 0.4\n",
            id="four-spaces-empty-section",
        ),
        pytest.param(
            "search:\n  bm25:\n    k1:   2\n    idf:  lucene\n",
            K1,
            "search:\n  bm25:\n    k1:   0.4\n    idf:  lucene\n",
            id="values-in-a-column",
        ),
        pytest.param(
            "search:\n  bm25:\n    k1:  # soon\n", K1, "search:\n  bm25:\n    k1: 0.4 # soon\n"
        ),
        pytest.param(
            'search:\n  bm25:\n    "k1": 2',
            K1,
            'search:\n  bm25:\n    "k1": 0.4\n',
            id="quoted-key",
        ),
        pytest.param(
            "other:\n  k1: 2\n  bm25:\n    k1: 3\nsearch:\n  bm25:\n    k1: 4\n",
            K1,
            "other:\n  k1: 2\n  bm25:\n    k1: 3\nsearch:\n  bm25:\n    k1: 0.4\n",
            id="same-names-elsewhere",
        ),
        pytest.param(
            "note: |\n  search:\n    bm25:\n      k1: 4\n",
            K1,
            "note: |\n  search:\n    bm25:\n      k1: 4\nsearch:\n  bm25:\n    k1: 0.4\n",
            id="block-of-text",
        ),
        pytest.param(
            "search:\r\n  bm25:\r\n    k1: 2 # a\r\nui:\r\n",
            K1,
            "search:\r\n  bm25:\r\n    k1: 0.4 # a\r\nui:\r\n",
            id="line-ends-of-windows",
        ),
    ],
)
def test_a_missing_key_finds_its_place(
    tmp_path: Path, source: str, key: str, expected: str
) -> None:
    """What is missing is added in the style of the file; no other line changes."""
    assert edited(tmp_path, source, key, "0.4") == expected


@pytest.mark.parametrize(
    ("source", "tree", "kept"),
    [
        pytest.param("search: {bm25: {k1: 2}}  # a\n", {}, ["# a"], id="inner-map"),
        pytest.param("# a\n{}\n", {}, ["# a"], id="empty-map"),
        pytest.param("search: null  # a\n", {}, ["# a"], id="null"),
        pytest.param(
            "# a\nsearch: {}  # b\n# c\nui:\n  default_search_format: 'legacy'\n",
            {"ui": {"default_search_format": "legacy"}},
            ["# a", "# b", "# c", "ui:", "  default_search_format: 'legacy'"],
            id="quotes-elsewhere",
        ),
        pytest.param(
            f"search: {{}}\nlong: {'word ' * 30}end\n",
            {"long": f"{'word ' * 30}end"},
            [f"long: {'word ' * 30}end"],
            id="long-line-elsewhere",
        ),
    ],
)
def test_flow_style_is_rewritten_with_its_comments(
    tmp_path: Path, source: str, tree: dict[str, object], kept: list[str]
) -> None:
    """Where no single line can be edited the section is written anew, and nothing else."""
    after = edited(tmp_path, source, K1, "1.2")
    assert parse_yaml(after.encode()) == {"search": {"bm25": {"k1": 1.2}}, **tree}
    assert set(kept) <= set(parts(after))


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        pytest.param(
            "base: &b {k1: 2.0}\nsearch:\n  bm25: *b\n",
            "{'base': {'k1': 2.0}, 'search': {'bm25': {'k1': 1.2}}}",
            id="alias",
        ),
        pytest.param(
            "search:\n  bm25: &b {b: 0.5}\nother: *b\n",
            "{'search': {'bm25': {'b': 0.5, 'k1': 1.2}}, 'other': {'b': 0.5}}",
            id="anchor",
        ),
        pytest.param(
            "base: &b {k1: 2.0}\nsearch:\n  bm25:\n    <<: *b\n",
            "{'base': {'k1': 2.0}, 'search': {'bm25': {'k1': 1.2}}}",
            id="merge",
        ),
        pytest.param(
            "other: &a [*a]\n", "{'other': [[...]], 'search': {'bm25': {'k1': 1.2}}}", id="circle"
        ),
    ],
)
def test_what_is_shared_by_an_anchor_is_not_changed_elsewhere(
    tmp_path: Path, source: str, wanted: str
) -> None:
    """Exactly the wanted settings come out, or the edit is refused and nothing is written."""
    refused = False
    try:
        after = edited(tmp_path, source, K1, "1.2")
    except ConfigError:
        refused, after = True, (tmp_path / "edited.yml").read_text(encoding="utf-8")
    assert after == source if refused else repr(parse_yaml(after.encode())) == wanted


def laughs(first: str) -> str:
    """A few lines that unfold to 2 ** 40 values."""
    lines = [f"{first}&a0 [x]", *(f"{first}&a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 41))]
    return "".join(f"{line.replace('N', str(n))}\n" for n, line in enumerate(lines))


def test_a_file_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    source = laughs("sharedN: ")
    with pytest.raises(ConfigError, match="its aliases unfold to more than 100,000") as caught:
        edited(tmp_path, source, K1, "1.2")
    assert "anchors" in caught.value.hint
    assert (tmp_path / "edited.yml").read_text() == source


def test_a_list_that_unfolds_without_end_is_told_in_a_few_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Must hold settings") as caught:
        edited(tmp_path, laughs("- "), K1, "1.2")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        pytest.param("own.db", "path: own.db", id="plain"),
        pytest.param("/data/own.db", 'path: "/data/own.db"', id="absolute"),
        pytest.param("a #1.db", 'path: "a #1.db"', id="hash"),
        pytest.param("2024", 'path: "2024"', id="digits"),
        pytest.param("null", 'path: "null"', id="null"),
        pytest.param("数据/记忆.db", 'path: "数据/记忆.db"', id="cjk"),
        pytest.param("🧠.db", 'path: "🧠.db"', id="emoji"),
        pytest.param("a: b", 'path: "a: b"', id="colon"),
        pytest.param("C:\\own.db", 'path: "C:\\\\own.db"', id="backslash"),
    ],
)
def test_text_is_written_as_it_was_given(tmp_path: Path, raw: str, line: str) -> None:
    """What was typed is what is read back, in letters a person can read."""
    after = edited(tmp_path, "", "store.path", raw)
    assert parse_yaml(after.encode()) == {"store": {"path": raw}}
    assert after == f"store:\n  {line}\n"


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("", id="empty"),
        pytest.param("search: {bm25: {k1: 2}}", id="flow"),
        pytest.param("search:\n  hybrid:\n    stage1_top_k: 50\n{key}: 2\n", id="dotted"),
        pytest.param("search:\n  bm25:\n    b: 0.5\n  bm25.k1: 2\n", id="half-dotted"),
        pytest.param("\ufeffsearch:\n  bm25:\n    k1: 2\n", id="byte-order-mark"),
    ],
)
def test_what_was_set_is_what_is_read(world: World, source: str) -> None:
    """Whatever the file looked like before, the new value is the one that holds."""
    world.write(user=source.format(key=K1) if "{key}" in source else source)
    set_value(world.user_file, K1, "1.2")
    assert world.load().settings.search.bm25.k1 == 1.2
