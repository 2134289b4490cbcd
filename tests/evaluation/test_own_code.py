"""Names of the user's own code, in the ways people remember them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.evaluation.runner import fill
from aurora.evaluation.self_check import (
    Definition,
    Placed,
    ask_names,
    find_names,
    forms,
    measure_forms,
    misses,
    read_repository,
    sample,
)
from aurora.report_types import Missed
from aurora.types import Chunk, Kind
from tests.builders import make_chunk, write_tree
from tests.evaluation.small_sets import throw_away

CODE = '''
class HeronWatcher:
    """Waits."""

    def count_birds(self):
        return 1


def feed_all():
    return 2


def run():
    return 3
'''


def method(path: str, owner: str, name: str) -> Chunk:
    full = f"{owner}.{name}"
    return make_chunk(
        path=path, name=name, id=f"{path}:{full}", qualified_name=full, kind=Kind.METHOD
    )


def asked(chunks: list[Chunk], name: str) -> dict[str, str]:
    names = find_names(chunks)
    (one,) = [one for one in names.definitions if one.name == name]
    return dict(forms(one, names.taken))


def test_every_form_of_a_name() -> None:
    chunks = [method("src/shop/cart.py", "Cart", "total_price")]
    assert asked(chunks, "total_price") == {
        "name": "total_price",
        "camelCase": "totalPrice",
        "PascalCase": "TotalPrice",
        "qualified": "Cart.total_price",
        "with module": "shop.cart.Cart.total_price",
        "words": "total price",
    }


def test_a_spelling_that_another_has_is_not_asked_for() -> None:
    chunks = [
        make_chunk(path="a.py", name="total_price"),
        make_chunk(path="b.py", name="totalPrice"),
    ]
    assert asked(chunks, "total_price") == {"name": "total_price", "with module": "a.total_price"}


def test_only_names_that_one_definition_has_are_drawn() -> None:
    chunks = [
        make_chunk(path="a.py", name="shared"),
        make_chunk(path="b.py", name="shared"),
        make_chunk(path="a.py", name="run"),
        make_chunk(path="a.py", name="__init__"),
        make_chunk(path="a.py", name="piece"),
        make_chunk(path="a.py", name="piece", id="a.py:piece@2"),
        make_chunk(path="a.py", name="module", kind=Kind.CODE),
    ]
    assert [one.id for one in find_names(chunks).definitions] == ["a.py:piece"]


def test_the_same_names_are_drawn_every_time_of_every_kind() -> None:
    chunks = [make_chunk(path="a.py", name=f"function{n}") for n in range(50)]
    chunks += [make_chunk(path="a.py", name=f"Class{n}", kind=Kind.CLASS) for n in range(50)]
    definitions = find_names(chunks).definitions
    drawn = sample(definitions, 10)
    assert drawn == sample(definitions[::-1], 10)
    assert [one.kind for one in drawn] == ["class", "function"] * 5


def test_a_repository_is_read_as_an_index_would_and_its_names_are_found(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path / "shop",
        {"src/herons.py": CODE, "notes.md": "# Herons\n", "out/x.py": "def ignored_one(): pass\n",
         ".gitignore": "out/\n", "picture.png": b"\x89\0"},
    )  # fmt: skip
    subprocess.run(["git", "init", "-q", root], check=True)
    items = read_repository(root)
    assert [item.path for item in items] == [".gitignore", "notes.md", "src/herons.py"]

    with throw_away(tmp_path, embedding_provider="none").memory() as memory:
        fill(memory, items)
        names = find_names(memory.admin.chunks())
        drawn = sample(names.definitions, 10)
        placed = list(ask_names(memory, names, drawn))
        fewer = list(ask_names(memory, names, drawn, in_all_forms=1))

    assert {one.definition.name for one in placed} == {"HeronWatcher", "count_birds", "feed_all"}
    assert [one for one in placed if one.place != 1] == []
    assert {one.form: one.asked for one in measure_forms(placed)}["name"] == 3
    assert [one.form for one in fewer if one.definition == drawn[0]] == [
        one.form for one in placed if one.definition == drawn[0]
    ]
    assert [one.form for one in fewer if one.definition != drawn[0]] == ["name", "name"]


def test_a_folder_without_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is nothing to read"):
        read_repository(tmp_path)


def test_the_numbers_of_a_form() -> None:
    one = Definition("", "a.py:heron", "function", "heron", "heron", "a.py")
    placed = [
        Placed(one, "name", "heron", place, "b.py:x", ms)
        for place, ms in ((1, 4.0), (2, 1.0), (0, 3.0), (1, 2.0))
    ]
    (found,) = measure_forms(placed)
    assert found == ("name", 4, 0.5, (1 + 1 / 2 + 0 + 1) / 4, 2.0, 4.0)
    assert misses(placed) == (
        Missed("name", "heron", "a.py:heron", 0, "b.py:x"),
        Missed("name", "heron", "a.py:heron", 2, "b.py:x"),
    )
