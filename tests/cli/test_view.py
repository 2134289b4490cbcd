"""The default view, paths from where the user stands, short forms, and the file's own lines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from aurora.cli.paths import shown_problem
from tests.backends import about_streams, without_memory
from tests.builders import note_as_own, write_tree
from tests.cli.conftest import PROJECT, Shell, make_repository
from tests.cli.forking import AUR, relaying
from tests.cli.screen import Terminal

CART = '''\
class Cart:
    """What a customer wants to buy."""

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(item.price for item in self.items)
'''
TREE: dict[str, str | bytes] = {
    "shop/cart.py": CART,
    "shop/pay/bank.py": "def transfer(amount):\n    return amount\n",
    "main.py": "def transfer_all():\n    pass\n",
    "shop/2024.md": "# 2024\n\nA good year.\n",
}


@pytest.fixture(scope="module")
def once_indexed_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of `shop`, indexed once: tests work on copies."""
    folder = tmp_path_factory.mktemp("shop")
    shell = make_repository(folder)
    write_tree(shell.cwd, TREE)
    shell.ok("mem", "index", ".")
    return folder


@pytest.fixture
def shop(backend: str, tmp_path: Path, shell: Shell, request: pytest.FixtureRequest) -> Shell:
    """A project in folders, whose searches print the default view."""
    shell.environ["AURORA_UI_VIEW"] = ""
    if backend == "postgres":
        write_tree(shell.cwd, TREE)
        shell.ok("mem", "index", ".")
    else:
        shutil.copytree(request.getfixturevalue("once_indexed_shop"), tmp_path, dirs_exist_ok=True)
        note_as_own(shell.home, shell.cwd / ".aurora" / "memory.db")
    return shell


def heads(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if not line.startswith(" ")]


# The views


def test_by_default_results_are_lines_with_their_text(shop: Shell) -> None:
    lines = shop.ok("mem", "search", "total", "-n", "1", "--no-git").splitlines()
    place, *facts = lines[0].split("  ")
    assert (place, facts[:2]) == ("shop/cart.py:7", ["Cart.total", "method"])
    assert 0 <= float(facts[2]) <= 1
    assert lines[1:] == ["  7: def total(self):"]


def test_an_outline_says_so_and_its_id_gives_the_whole(shop: Shell) -> None:
    told = shop.ok("mem", "search", "Cart", "--type", "class", "-n", "1").splitlines()[-1]
    assert told == "  outline; for the whole: aur mem get shop/cart.py:Cart"
    assert shop.ok("mem", "get", "shop/cart.py:Cart") == CART


def test_the_whole_of_a_long_class_is_more_than_its_first_piece(shop: Shell) -> None:
    methods = (f"    def method_{n}(self):\n        return work({n})\n" for n in range(400))
    long = "class Long:\n" + "".join(methods)
    write_tree(shop.cwd, {"long.py": long})
    shop.ok("mem", "index", ".")
    told = shop.ok("mem", "search", "Long", "--type", "class", "-n", "1").splitlines()[-1]
    assert told == "  outline; for the whole: aur mem get long.py:Long"
    done = shop.run("mem", "get", "long.py:Long")
    assert (done.stdout, done.stderr) == (long, "long.py:Long (class, lines 1-801)\n")
    told = json.loads(shop.ok("mem", "get", "long.py:Long", "--json"))
    assert (told["lines"], told["content"]) == ([1, 801], long.rstrip("\n"))
    assert "parts" not in told["metadata"]


@pytest.mark.parametrize(
    ("flags", "setting", "is_table"),
    [
        ((), "lines", False),
        (("--table",), "lines", True),
        (("--legacy",), "lines", True),
        ((), "table", True),
        (("--no-table",), "table", False),
        (("--context", "1"), "table", False),
    ],
)
def test_flags_come_before_the_setting(
    shop: Shell, flags: tuple[str, ...], setting: str, is_table: bool
) -> None:
    shop.environ["AURORA_UI_VIEW"] = setting
    printed = shop.ok("mem", "search", "transfer", *flags)
    assert printed.startswith("File ") is is_table


@about_streams
@pytest.mark.parametrize(
    ("columns", "flag", "is_table"), [(110, "", True), (60, "", False), (60, "--table", True)]
)
def test_the_setting_gives_a_table_where_it_fits(
    shop: Shell, columns: int, flag: str, is_table: bool
) -> None:
    shop.environ["AURORA_UI_VIEW"] = "table"
    argv = [relaying() / "aur", "mem", "search", "transfer", *filter(None, [flag])]
    terminal = Terminal(argv, cwd=shop.cwd, env=shop.environment, columns=columns)
    assert terminal.wait() == 0
    assert ("File" in terminal.written) is is_table


# Paths from where the user stands


@pytest.mark.parametrize("flags", [(), ("--table",), ("-l",), ("--show-scores",)])
def test_paths_are_relative_to_the_working_directory(shop: Shell, flags: tuple[str, ...]) -> None:
    printed = shop.ok("mem", "search", "transfer", *flags, cwd=shop.cwd / "shop" / "pay")
    assert "../../main.py" in printed
    assert "bank.py" in printed
    assert "shop/pay/bank.py" not in printed


def test_the_paths_of_json_start_at_the_root_everywhere(shop: Shell) -> None:
    told = json.loads(shop.ok("mem", "search", "transfer", "--json", cwd=shop.cwd / "shop"))
    paths = [result["path"] for result in told["results"]]
    assert set(paths[:2]) == {"main.py", "shop/pay/bank.py"}
    assert set(paths) <= {*TREE, *PROJECT}


@pytest.mark.parametrize(
    ("folder", "glob", "expected"),
    [
        ("shop", ".", {"pay/bank.py"}),
        ("shop", "./pay", {"pay/bank.py"}),
        ("shop/pay", "..", {"bank.py"}),
        (".", ".", {"main.py", "shop/pay/bank.py"}),
        ("shop", "main.py", {"../main.py"}),  # a glob without a folder, as in .gitignore
    ],
)
def test_a_path_that_begins_with_a_dot_is_that_folder(
    shop: Shell, folder: str, glob: str, expected: set[str]
) -> None:
    cwd = shop.cwd / folder
    words = ("transfer", "--mode", "keyword", "--type", "function", "--path", glob)
    names = shop.ok("mem", "search", *words, "-l", cwd=cwd)
    assert set(names.splitlines()) == expected
    query = f"transfer type:function path:{glob}"
    names = shop.ok("mem", "search", query, "--mode", "keyword", "-l", cwd=cwd)
    assert set(names.splitlines()) == expected


def test_in_a_memory_of_several_projects_files_below_are_relative(shell: Shell) -> None:
    """Elsewhere they are absolute; `--path .` is the working directory there, too."""
    apart = write_tree(shell.home.parent / "plain", TREE)
    shell.ok("mem", "index", ".", cwd=apart)
    search = ("mem", "search", "transfer", "--mode", "keyword", "-l")
    names = shell.ok(*search, cwd=apart / "shop").splitlines()
    assert set(names) == {"pay/bank.py", str(apart / "main.py")}
    names = shell.ok(*search, "--path", ".", cwd=apart / "shop")
    assert names.splitlines() == ["pay/bank.py"]


# `aur mem get`


@pytest.mark.parametrize(
    ("folder", "word", "title"),
    [
        (".", "shop/cart.py:8", "shop/cart.py:Cart.total (method, lines 7-8)"),
        (".", "shop/cart.py:8:12", "shop/cart.py:Cart.total (method, lines 7-8)"),
        (".", "shop/cart.py:2", "shop/cart.py:Cart (class, lines 1-8)"),
        ("shop", "cart.py:8", "cart.py:Cart.total (method, lines 7-8)"),
        ("shop", "../main.py:1", "../main.py:transfer_all (function, lines 1-2)"),
        ("shop", "shop/cart.py:8", "cart.py:Cart.total (method, lines 7-8)"),
        ("shop", "../main.py:transfer_all", "../main.py:transfer_all (function, lines 1-2)"),
        (".", "shop/2024.md:2024", "shop/2024.md:2024 (knowledge, lines 1-3)"),
        (".", "cart.py:8", "shop/cart.py:Cart.total (method, lines 7-8)"),
        ("shop", "{root}/main.py:1", "../main.py:transfer_all (function, lines 1-2)"),
    ],
)
def test_a_chunk_is_got_by_its_line(shop: Shell, folder: str, word: str, title: str) -> None:
    done = shop.run("mem", "get", word.format(root=shop.cwd), cwd=shop.cwd / folder)
    assert (done.returncode, done.stderr.strip()) == (0, title)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("shop/cart.py:99", ["no line 99 of shop/cart.py", "the lines 1-8"]),
        ("shop/none.py:3", ["no file shop/none.py in the memory"]),
        ("setup.py:1", ["could be a/setup.py:", "b/setup.py:"]),
        ("shop/2024.md:0", ["No chunk has line 0", "the lines 1-3: shop/2024.md:1"]),
    ],
)
def test_a_line_that_is_not_there_is_answered_with_those_that_are(
    shop: Shell, word: str, parts: list[str]
) -> None:
    write_tree(shop.cwd, {"a/setup.py": "import one\n", "b/setup.py": "import two\n"})
    shop.ok("mem", "index", ".")
    told = shop.fails("mem", "get", word)
    assert all(part in told for part in parts), told


def test_the_lines_are_those_of_the_file_with_their_indentation(shop: Shell) -> None:
    lines = CART.splitlines(keepends=True)
    assert shop.ok("mem", "get", "shop/cart.py:Cart.total") == "".join(lines[6:8])


@pytest.mark.parametrize("is_gone", [False, True])
def test_of_a_changed_file_the_stored_text_is_printed(shop: Shell, is_gone: bool) -> None:
    file = shop.cwd / "shop" / "cart.py"
    file.unlink() if is_gone else file.write_text("# new\n" + CART)
    shop.environ = {**shop.environ, "AURORA_INDEX_AUTO": "false"}
    reason = "is gone" if is_gone else "has changed since it was indexed"
    done = shop.run("mem", "get", "shop/cart.py:Cart.total")
    assert done.stdout == "def total(self):\n    return sum(item.price for item in self.items)\n"
    assert f"shop/cart.py {reason}: this is the stored text" in done.stderr
    assert shop.run("mem", "get", "cart.py:Cart", cwd=file.parent).stderr.splitlines()[1] == (
        f"cart.py {reason}: this is the stored outline, without the bodies inside"
    )
    done = shop.run("mem", "get", "shop/cart.py:Cart", "--json")
    told = json.loads(done.stdout)
    assert "stored outline" in told["note"]
    assert "self.items" not in told["content"]


# Other commands


def test_every_command_shows_paths_from_here(shop: Shell) -> None:
    below = shop.cwd / "shop" / "pay"
    write_tree(shop.cwd, {"shop/pay/broken.py": "def f(:\n    pass\n", "shop/bad.py": "def g(:\n"})
    told = shop.run("mem", "index", "..", cwd=below)
    assert "Warning: broken.py has syntax errors" in told.stderr
    assert "Warning: ../bad.py has syntax errors" in told.stderr
    told = shop.run("mem", "forget", "bank.py:transfer", cwd=below)
    assert "  bank.py:transfer\n" in told.stderr
    assert shop.ok("mem", "forget", "bank.py:transfer", "--yes", cwd=below) == "Forgot 1 chunk\n"


@pytest.mark.parametrize(
    ("problem", "shown"),
    [
        ("shop/bad.py: 1 secret redacted", "../bad.py: 1 secret redacted"),
        ("shop/pay/a b.py takes 3 s", "a b.py takes 3 s"),
        (
            "Failed to generate embedding for chunk shop/bad.py:f: no answer",
            "Failed to generate embedding for chunk ../bad.py:f: no answer",
        ),
        ("shop/gone.py: who knows", "shop/gone.py: who knows"),
        ("No conversation logs found", "No conversation logs found"),
    ],
)
def test_a_problem_names_its_file_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str, shown: str
) -> None:
    write_tree(tmp_path, {"shop/bad.py": "", "shop/pay/a b.py": ""})
    monkeypatch.chdir(tmp_path / "shop" / "pay")
    assert shown_problem(problem, tmp_path) == shown


def test_what_is_forgotten_is_the_file_that_is_here(shop: Shell) -> None:
    """Not another one of that path at the root, unless there is none here."""
    write_tree(shop.cwd, {"shop/main.py": "def below():\n    pass\n"})
    shop.ok("mem", "index", ".")
    below = shop.cwd / "shop"
    assert shop.ok("mem", "forget", "main.py", "--yes", cwd=below) == "Forgot 1 chunk\n"
    assert shop.ok("mem", "get", "../main.py:transfer_all", cwd=below)
    assert "There is no chunk" in shop.fails("mem", "get", "shop/main.py:below")
    assert shop.ok("mem", "forget", "main.py", "--yes", cwd=below) == "Forgot 1 chunk\n"
    assert "There is no chunk" in shop.fails("mem", "get", "main.py:transfer_all")


@pytest.mark.one_store("a server has no path")
def test_the_memory_of_a_project_is_shown_from_here(shop: Shell) -> None:
    assert "../../.aurora/memory.db" in shop.ok("mem", "stats", cwd=shop.cwd / "shop" / "pay")


# Short forms


@without_memory
def test_the_short_forms_are_in_the_help(shell: Shell) -> None:
    told = shell.ok("--help")
    assert "short for aur mem index" in told
    assert "short for aur mem search" in told


def test_the_short_forms_do_the_same(shell: Shell) -> None:
    write_tree(shell.cwd, TREE)
    assert "Total chunks" in shell.ok("index")
    assert shell.ok("search", "transfer", "-l") == shell.ok("mem", "search", "transfer", "-l")
    assert "Usage: aur search" in shell.ok("search", "--help")


def test_a_first_search_loads_no_yaml(shop: Shell) -> None:
    """Its settings are defaults, and nothing is written to them."""
    script = (
        "import sys; from aurora.cli.main import cli; "
        "cli.main(['search', 'transfer'], standalone_mode=False); "
        "print({'yaml', 'aurora.config.edit'} & set(sys.modules))"
    )
    shop.environ["AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE"] = ""
    python = AUR.with_name("python")
    done = shop.bash(f'"{python}" -c "{script}"')
    assert done.stdout.splitlines()[-1] == "set()", done.stderr
