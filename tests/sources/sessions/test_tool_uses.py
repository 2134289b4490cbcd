"""A tool's call becomes a value by its name and arguments, and long texts are cut with care."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.redaction import MARK, Redactor
from aurora.sources.sessions.base import ToolKind
from aurora.sources.sessions.tool_uses import (
    cut,
    exit_status,
    tool_files,
    tool_input,
    tool_kind,
)
from aurora.types import Json

KEY_LINE = "MIIEpAIBAAKCAQEA7bq2T9fXk3Zr1mQ0c5Yw8JtVhLxGnPzSdE4uRoKiFaCbWyMj"
KEY = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *[KEY_LINE] * 40, "-----END RSA PRIVATE KEY-----"]
)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("Bash shell exec_command run_shell_command run_terminal_cmd", ToolKind.COMMAND),
        ("Edit Write MultiEdit apply_patch str_replace replace StrReplace", ToolKind.EDIT),
        ("Read view Grep Glob read_file list_directory codebase_search", ToolKind.READ),
        ("Task WebSearch mcp__tracker__list update_plan", ToolKind.OTHER),
    ],
)
def test_tools_of_all_agents_have_a_kind(names: str, kind: ToolKind) -> None:
    assert {tool_kind(name) for name in names.split()} == {kind}


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": "make test"}, "make test"),
        ({"cmd": "make test", "workdir": "/x"}, "make test"),
        ({"command": ["bash", "-lc", "make test | tail"]}, "make test | tail"),
        ({"command": ["git", "commit", "-m", "two words"]}, "git commit -m 'two words'"),
        ({"type": "exec", "command": ["ls"]}, "ls"),
        ("make", "make"),
        ({"other": 1}, '{"other": 1}'),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_input_of_a_command_is_its_command_line(arguments: Json, command: str) -> None:
    assert tool_input(ToolKind.COMMAND, arguments) == command


@pytest.mark.parametrize(
    ("arguments", "change", "files"),
    [
        ({"file_path": "a.py", "old_string": "x\ny", "new_string": "z"},
         "a.py\n- x\n- y\n+ z", ("a.py",)),
        ({"path": "a.py", "old_str": "x", "new_str": ""}, "a.py\n- x", ("a.py",)),
        ({"filePath": "b.md", "content": "new"}, "b.md\n+ new", ("b.md",)),
        ({"file_path": "a.py", "edits": [{"old_string": "1", "new_string": "2"},
                                         {"old_string": "3", "new_string": "4"}]},
         "a.py\n- 1\n+ 2\n- 3\n+ 4", ("a.py",)),
        ("*** Begin Patch\n*** Add File: a\n*** Update File: b c\n*** Move to: d\n*** End Patch",
         "*** Begin Patch\n*** Add File: a\n*** Update File: b c\n*** Move to: d\n*** End Patch",
         ("a", "b c", "d")),
    ],
)  # fmt: skip
def test_the_input_of_an_edit_is_the_change(
    arguments: Json, change: str, files: tuple[str, ...]
) -> None:
    assert tool_input(ToolKind.EDIT, arguments) == change
    assert tool_files(ToolKind.EDIT, "Edit", arguments) == files


def test_the_folder_of_a_search_is_no_file() -> None:
    arguments: Json = {"pattern": "total", "path": "src"}
    assert tool_input(ToolKind.READ, arguments) == "total src"
    assert tool_files(ToolKind.READ, "Grep", arguments) == ()
    assert tool_files(ToolKind.READ, "Read", {"file_path": "a.py"}) == ("a.py",)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("Exit code 2\nno rule", 2),
        ("Error: Exit code 127", 127),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nfine", 0),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n", 1),
        ("done\n<exited with exit code 3>", 3),
        ("done\n<shellId: 0 completed with exit code 4>", 4),
        ("a program says: exit code 3 is bad", None),
        ("fine\n" * 100 + "Exit code 1\n" + "fine\n" * 100, None),
        ("", None),
    ],
)
def test_the_exit_status_is_read_where_an_agent_writes_it(outcome: str, status: int | None) -> None:
    assert exit_status(outcome) == status


def test_a_short_text_is_kept_as_it_is() -> None:
    assert cut("a\nb\n", 10, Redactor()) == "a\nb"


def test_a_long_text_keeps_its_head_its_tail_and_what_looks_like_an_error() -> None:
    lines = [f"step {number} is fine" for number in range(2000)]
    lines[1000] = "TypeError: 'NoneType' object is not callable"

    text = cut("\n".join(lines), 1000, Redactor())

    kept = text.splitlines()
    assert kept[0] == "step 0 is fine"
    assert kept[-1] == "step 1999 is fine"
    assert "TypeError: 'NoneType' object is not callable" in kept
    assert any("characters left out]" in line for line in kept)
    assert len(text) < 1100


@given(st.text(alphabet="ab \n", max_size=3000), st.integers(10, 500))
def test_a_text_is_never_much_longer_than_it_may_be(text: str, most: int) -> None:
    assert len(cut(text, most, Redactor())) <= most + 60


@pytest.mark.parametrize("most", [500, 1000, 4000])
def test_no_part_of_a_private_key_is_left_wherever_the_text_is_cut(most: int) -> None:
    filler = "fine\n" * 3000
    for before in [*range(0, 4000, 250), 9000, 11_000, 14_000]:
        text = cut(filler[:before] + KEY + "\n" + filler[before:], most, Redactor())
        assert KEY_LINE not in text, before
        assert KEY_LINE[:30] not in text, before


@pytest.mark.parametrize("most", [500, 4000])
def test_no_half_of_a_token_is_left_wherever_the_text_is_cut(most: int) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    edges = range(most // 2 - 90, most // 2 + 30, 3)
    for before in [*range(0, 60, 5), *edges, *range(3900, 4000, 9)]:
        text = cut("x " * (before // 2) + token + " y" * 4000, most, Redactor())
        assert token[:20] not in text
        assert token[-12:] not in text


def test_a_secret_is_named_when_it_was_there() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert MARK in cut(f"{token}\n" + "fine\n" * 2000, 1000, Redactor())
