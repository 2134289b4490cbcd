"""Writing into files of other programs: all else in them stays, and so does what was before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import ConfigError
from aurora.install.clients import CLIENTS, Local, Remote, Server, with_entry, write_entry
from tests.builders import write_tree

CLAUDE, CODEX, VSCODE = CLIENTS["claude-code"], CLIENTS["codex"], CLIENTS["vscode"]
LOCAL = Local(("aur", "mcp"))
GUARDED = Remote("https://memory.example.org/mcp", token=True)
ENTRY = '"aurora": {"type": "stdio", "alwaysLoad": true, "command": "aur", "args": ["mcp"]}'


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def edit_json(source: str, server: Server = LOCAL) -> str:
    return with_entry(source, CLAUDE, server).text


def edit_toml(source: str, server: Server = LOCAL) -> str:
    return with_entry(source, CODEX, server).text


# ---- JSON


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mcpServers": {}}', f'{{"mcpServers": {{{ENTRY}}}}}'),
        ('{"a": 1.50, "mcpServers": {"b":{}} }\n',
         f'{{"a": 1.50, "mcpServers": {{"b":{{}}, {ENTRY}}} }}\n'),
        ('{"mcpServers": {"aurora": {"command": "x"}, "z": 1e3}}',
         f'{{"mcpServers": {{{ENTRY}, "z": 1e3}}}}'),
    ],
)  # fmt: skip
def test_in_one_line_it_stays_one_line(before: str, after: str) -> None:
    assert edit_json(before) == after


@pytest.mark.parametrize("unit", ["  ", "    ", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_indent_and_newlines_are_those_of_the_file(unit: str, newline: str, end: str) -> None:
    before: dict[str, object] = {"x": [1, {"y": None}], "mcpServers": {"b": {"args": ["c"]}}}
    after = {**before, "mcpServers": {"b": {"args": ["c"]}, "aurora": CLAUDE.entry(LOCAL)}}

    def laid_out(tree: object) -> str:
        return (json.dumps(tree, indent=unit) + end).replace("\n", newline)

    assert edit_json(laid_out(before)) == laid_out(after)
    empty = {"x": 1, "mcpServers": {}}
    filled = {"x": 1, "mcpServers": {"aurora": CLAUDE.entry(LOCAL)}}
    assert edit_json(laid_out(empty)) == laid_out(filled)
    assert edit_json(laid_out({"x": 1})) == laid_out(filled)
    old = {"mcpServers": {"aurora": {"command": "old"}, "z": 1}}
    new = {"mcpServers": {"aurora": CLAUDE.entry(LOCAL), "z": 1}}
    assert edit_json(laid_out(old)) == laid_out(new)


@pytest.mark.parametrize("before", ["", "\n", "{}", "{ }\n", "\ufeff{}"])
def test_an_empty_file_is_filled(before: str) -> None:
    text = edit_json(before)
    assert text.startswith("\ufeff") == before.startswith("\ufeff")
    assert text.lstrip("\ufeff").rstrip("\n") == CLAUDE.snippet(LOCAL)


def test_every_byte_around_an_entry_stays() -> None:
    before = '{ "n" : 1.0E+2,\n\t"u":"\\u00e9/\\/",  "mcpServers" :{\n   "b" : [ ] } , "z":{} }'
    after = edit_json(before)
    place = before.index(" } , ")
    assert after.startswith(before[:place])
    assert after.endswith(before[place:])


def test_what_vscode_asks_for_is_added_once() -> None:
    first = with_entry('{"inputs": [{"id": "other"}]}', VSCODE, GUARDED).text
    assert [one["id"] for one in json.loads(first)["inputs"]] == ["other", "aurora-token"]
    assert with_entry(first, VSCODE, GUARDED).text == first
    own = '{"inputs": [{"id": "aurora-token", "type": "command"}]}'
    assert json.loads(with_entry(own, VSCODE, GUARDED).text)["inputs"] == json.loads(own)["inputs"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('{"a": 1, // mine\n}', "line 1 is not plain JSON"),
        ('{\n"mcpServers": {},\n}', "line 3 is not plain JSON|line 2 is not plain JSON"),
        ('{"a": 1', "line 1 is not plain JSON"),
        ("[]", "it is not a JSON object"),
        ('{"a": {"b": 1, "b": 2}}', "one object has 'b' twice"),
        ('{"mcpServers": []}', "'mcpServers' in it is not a table of servers"),
        ('{"mcpServers": null}', "'mcpServers' in it is not a table of servers"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "it is not JSON for a settings file"),
    ],
)
def test_json_that_is_not_sure_is_refused(source: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        edit_json(source)


def test_inputs_that_are_no_list_are_refused() -> None:
    with pytest.raises(ConfigError, match="'inputs' in it is not a list"):
        with_entry('{"inputs": {}}', VSCODE, GUARDED)


KEYS = st.text(max_size=6) | st.sampled_from(["aurora", "mcpServers", "inputs", "a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)  # fmt: skip
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4).flatmap(
    lambda tree: st.dictionaries(KEYS, VALUES, max_size=3).map(
        lambda servers: {**tree, "mcpServers": servers}
    )
)


@given(
    DOCUMENTS,
    st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_all_else_in_any_json_stays(
    tree: dict[str, dict[str, object]], indent: int | str | None, ascii_only: bool, newline: str
) -> None:
    source = json.dumps(tree, indent=indent, ensure_ascii=ascii_only).replace("\n", newline)
    after = edit_json(source)
    wanted = {**tree, "mcpServers": {**tree["mcpServers"], "aurora": CLAUDE.entry(LOCAL)}}
    assert json.loads(after) == wanted
    assert list(json.loads(after)) == list(tree)
    assert edit_json(after) == after
    assert json.loads(edit_json(after, GUARDED))["mcpServers"]["aurora"] == CLAUDE.entry(GUARDED)


# ---- TOML

TABLE = '[mcp_servers.aurora]\nrequired = true\ncommand = "aur"\nargs = ["mcp"]\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", TABLE),
        ('# mine\nmodel = "x"  # tuned', f'# mine\nmodel = "x"  # tuned\n\n{TABLE}'),
        ("[mcp_servers.b]\ncommand = 'c'\n", f"[mcp_servers.b]\ncommand = 'c'\n\n{TABLE}"),
        (
            "a = 1\n\n [ mcp_servers . 'aurora' ] # old\ncommand = 'x'\nargs = [\n  '[b]',\n]\n"
            "\n# of the next one\n[z]\nb = 2\n",
            f"a = 1\n\n{TABLE}\n# of the next one\n[z]\nb = 2\n",
        ),
        (
            "[mcp_servers.aurora.env]\nA = '1'\n[z]\n[mcp_servers.aurora]\ncommand = 'x'\n"
            "[[mcp_servers.aurora.tools]]\n[y]\n",
            f"{TABLE}[z]\n[y]\n",
        ),
        (
            "text = '''\n[mcp_servers.aurora]\n'''\nlist = [\n['a']\n]\n[mcp_servers.aurora]\n",
            f"text = '''\n[mcp_servers.aurora]\n'''\nlist = [\n['a']\n]\n{TABLE}",
        ),
        ("[a]\r\nb = 1\r\n", "[a]\r\nb = 1\r\n\r\n" + TABLE.replace("\n", "\r\n")),
    ],
)
def test_only_the_table_changes(before: str, after: str) -> None:
    assert edit_toml(before) == after
    assert edit_toml(after) == after


@pytest.mark.parametrize(
    "source",
    [
        "mcp_servers = { b = { command = 'c' } }\n",
        "mcp_servers = { aurora = { command = 'c' } }\n",
        "[mcp_servers]\naurora = { command = 'c' }\n",
        "[mcp_servers]\naurora.command = 'c'\n",
        "mcp_servers.aurora.command = 'c'\n",
    ],
)
def test_a_table_written_in_a_line_is_refused(source: str) -> None:
    with pytest.raises(ConfigError, match="written in a way that cannot be extended"):
        edit_toml(source)


def test_a_table_in_a_line_that_says_the_same_is_left() -> None:
    source = "mcp_servers = { aurora = { args = ['mcp'], command = 'aur', required = true } }\n"
    assert edit_toml(source) == source


@pytest.mark.parametrize("source", ["a = ", "a = 1\na = 2\n", "[mcp_servers\n", "mcp_servers = 1"])
def test_toml_that_is_not_sure_is_refused(source: str) -> None:
    with pytest.raises(ConfigError, match=r"is not TOML|not a table of servers"):
        edit_toml(source)


def test_a_number_too_long_for_python_is_refused() -> None:
    with pytest.raises(ConfigError, match="it is not TOML for a settings file"):
        edit_toml(f"a = {'1' * 5000}\n")


BLOCKS = {
    "plain": "# a comment\n[projects.'/a b']\ntrust_level = \"trusted\"  # yes\n\n",
    "string": '[notes]\ntext = """\n[mcp_servers.aurora]\ncommand = \'no\'\n"""\n',
    "lists": "[lists]\nrows = [\n  ['x'],\n['y']\n]\nwhen = 2026-01-02\n",
    "other": "[mcp_servers.other]\ncommand = 'c'\n# last words\n",
    "other.env": "[mcp_servers.other.env]\nA = '1'\n",
    "aurora": "[mcp_servers.aurora]\n# old\ncommand = 'old'\nargs = [\n  '[z]',\n  # in it\n]\n\n",
    "aurora.env": "  [mcp_servers.\"aurora\".env]\nTEXT = '''\n# [not a table]\n\n'''\n",
    "aurora.tools": "[[mcp_servers.aurora.tools]]\nname = 'a'\n",
}


@given(
    st.lists(st.sampled_from(list(BLOCKS)), unique=True),
    st.sampled_from(["", "model = 'x'\n\n", "# only a comment\n"]),
    st.sampled_from([LOCAL, GUARDED]),
)
def test_all_else_in_any_toml_stays(names: list[str], head: str, server: Server) -> None:
    source = head + "".join(BLOCKS[name] for name in names)
    before = tomllib.loads(source)
    after = edit_toml(source, server)
    servers = {**before.get("mcp_servers", {}), "aurora": CODEX.entry(server)}
    assert tomllib.loads(after) == {**before, "mcp_servers": servers}
    kept = [head, *(BLOCKS[name] for name in names if not name.startswith("aurora"))]
    assert all(part in after for part in kept)
    assert after.count("[mcp_servers.aurora]") == 1 + ("string" in names)


# ---- Files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / ".mcp.json"


def test_a_new_file_is_made_with_its_folder(file: Path) -> None:
    written = write_entry(file, CLAUDE, LOCAL, private=True)
    assert (written.changed, written.backup) == (True, None)
    assert file.read_text() == CLAUDE.snippet(LOCAL) + "\n"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert names(file.parent) == [".mcp.json"]


def test_a_file_keeps_its_mode_and_so_does_its_backup(file: Path) -> None:
    write_tree(file.parent, {file.name: "{}"})
    file.chmod(0o640)
    written = write_entry(file, CLAUDE, LOCAL, private=False)
    assert written.backup == file.with_name(".mcp.json.bak")
    assert {path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {0o640}
    assert written.backup.read_text() == "{}"


def test_no_backup_is_overwritten_and_none_is_made_twice(file: Path) -> None:
    write_tree(file.parent, {file.name: "{}", ".mcp.json.bak": "precious"})
    (file.parent / ".mcp.json.bak1").mkdir()
    assert write_entry(file, CLAUDE, LOCAL, private=False).backup == Path(f"{file}.bak2")
    file.write_text("{}")
    assert write_entry(file, CLAUDE, LOCAL, private=False).backup == Path(f"{file}.bak2")
    assert write_entry(file, CLAUDE, GUARDED, private=False).backup == Path(f"{file}.bak3")
    assert (file.parent / ".mcp.json.bak").read_text() == "precious"


def test_what_is_already_there_is_not_touched(file: Path) -> None:
    write_tree(file.parent, {file.name: f'{{"mcpServers":{{{ENTRY}}}}}'})
    before = file.stat()
    written = write_entry(file, CLAUDE, LOCAL, private=False)
    assert (written.changed, written.backup) == (False, None)
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names(file.parent) == [file.name]


@pytest.mark.parametrize("there", [True, False], ids=["there", "dangling"])
def test_a_link_stays_and_its_target_changes(file: Path, tmp_path: Path, there: bool) -> None:
    target = tmp_path / "dotfiles" / "mcp.json"
    write_tree(target.parent, {target.name: '{"a": 1}'} if there else {"other": ""})
    file.parent.mkdir()
    file.symlink_to(target)
    write_entry(file, CLAUDE, LOCAL, private=False)
    assert file.is_symlink()
    assert "aurora" in json.loads(target.read_text())["mcpServers"]


@pytest.mark.parametrize("content", [b'{"a": "\xff"}', b"\xff\xfe{\x00}\x00"])
def test_what_is_not_utf8_is_refused(file: Path, content: bytes) -> None:
    write_tree(file.parent, {file.name: content})
    with pytest.raises(ConfigError, match=r"\.mcp\.json was left as it is: it is not UTF-8"):
        write_entry(file, CLAUDE, LOCAL, private=False)
    assert file.read_bytes() == content
    assert names(file.parent) == [file.name]


def test_what_is_no_file_is_refused(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(ConfigError, match="is not a file"):
        write_entry(file, CLAUDE, LOCAL, private=False)
    with pytest.raises(ConfigError, match="Cannot read"):
        write_entry(write_tree(file, {"x": ""}) / "x" / "mcp.json", CLAUDE, LOCAL, private=False)
    loop = file.parent / "loop"
    loop.symlink_to(loop)
    with pytest.raises(ConfigError, match="Cannot read"):
        write_entry(loop, CLAUDE, LOCAL, private=False)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
@pytest.mark.parametrize("locked", ["file", "folder"])
def test_what_may_not_be_written_is_refused_and_stays(file: Path, locked: str) -> None:
    write_tree(file.parent, {file.name: "{}"})
    place, mode = (file, 0o444) if locked == "file" else (file.parent, 0o555)
    place.chmod(mode)
    with pytest.raises(ConfigError, match=r"Cannot write .*\.mcp\.json"):
        write_entry(file, CLAUDE, LOCAL, private=False)
    place.chmod(mode | 0o200)
    assert file.read_text() == "{}"
    assert names(file.parent) == [file.name]


def test_a_file_that_changes_meanwhile_is_not_overwritten(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that runs writes after we have read: at the moment when the backup is made."""
    write_tree(file.parent, {file.name: "{}"})

    def keep(*_: object) -> Path:
        file.write_text('{"new": 1}')
        return file

    monkeypatch.setattr("aurora.install.disk._keep", keep)
    with pytest.raises(ConfigError, match="has just been changed"):
        write_entry(file, CLAUDE, LOCAL, private=False)
    assert file.read_text() == '{"new": 1}'
    assert names(file.parent) == [file.name]


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_while_replacing_it_leaves_the_old_file_or_the_new_one(
    file: Path, moment: str
) -> None:
    write_tree(file.parent, {file.name: '{"a": 1}'})
    script = f"""
import os, signal
from pathlib import Path
from aurora.install.clients import write_entry
from aurora.install.clients import CLIENTS, Local
replace = Path.replace
def killed(self, target):
    if {moment!r} == "after":
        replace(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.replace = killed
write_entry(Path({str(file)!r}), CLIENTS["claude-code"], Local(("aur", "mcp")), private=False)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    tree = json.loads(file.read_text())
    assert tree["a"] == 1
    assert ("mcpServers" in tree) == (moment == "after")
    assert file.with_name(".mcp.json.bak").read_text() == '{"a": 1}'
    assert write_entry(file, CLAUDE, LOCAL, private=False).changed == (moment == "before")
