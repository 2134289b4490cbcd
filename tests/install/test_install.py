"""Installing into the files of agents, and uninstalling: everything is as it was before."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aurora.install.additions import BEGIN, END, Block, JsonElement, JsonMember
from aurora.install.client_files import parse_json, without_comments
from aurora.install.clients import Scope
from aurora.install.known_agents import AGENTS
from aurora.install.manifest import FILE, load, undo_between
from tests.install.machine import COMMAND, Machine, make_machine
from tests.properties import examples

pytestmark = pytest.mark.one_store("about the files of agents")
ROOT = Path(__file__).parents[2]
IS_ROOT = os.name == "posix" and os.geteuid() == 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return make_machine(tmp_path)


def tree_of(text: str) -> dict[str, object]:
    return dict(parse_json(without_comments(text.removeprefix("\ufeff"))))


def at(tree: object, *path: str) -> object:
    for key in path:
        assert isinstance(tree, dict)
        tree = tree[key]
    return tree


# ---- Each agent

SKILL = "skills/aurora/SKILL.md"
FILES = {
    ("claude-code", "user"): {".claude.json", ".claude/settings.json", f".claude/{SKILL}",
                              ".claude/CLAUDE.md"},
    ("claude-code", "project"): {".mcp.json", ".claude/settings.json", f".claude/{SKILL}",
                                 "CLAUDE.md"},
    ("codex", "user"): {".codex/config.toml", ".codex/hooks.json", f".agents/{SKILL}",
                        ".codex/AGENTS.md"},
    ("codex", "project"): {".codex/config.toml", ".codex/hooks.json", f".agents/{SKILL}",
                           "AGENTS.md"},
    ("gemini-cli", "user"): {".gemini/settings.json", f".agents/{SKILL}", ".gemini/GEMINI.md"},
    ("gemini-cli", "project"): {".gemini/settings.json", f".agents/{SKILL}", "GEMINI.md"},
    ("cursor", "user"): {".cursor/mcp.json", ".cursor/hooks.json", f".cursor/{SKILL}"},
    ("cursor", "project"): {".cursor/mcp.json", ".cursor/hooks.json", f".agents/{SKILL}",
                            "AGENTS.md"},
    ("vscode", "user"): {".config/Code/User/mcp.json"},
    ("vscode", "project"): {".vscode/mcp.json", f".agents/{SKILL}", "AGENTS.md"},
    ("copilot-cli", "user"): {".copilot/mcp-config.json", ".copilot/hooks/aurora.json",
                              f".agents/{SKILL}", ".copilot/copilot-instructions.md"},
    ("copilot-cli", "project"): {".github/mcp.json", ".github/hooks/aurora.json",
                                 f".agents/{SKILL}", "AGENTS.md"},
    ("opencode", "user"): {".config/opencode/opencode.json",
                           ".config/opencode/plugins/aurora.js", f".agents/{SKILL}",
                           ".config/opencode/AGENTS.md"},
    ("opencode", "project"): {"opencode.json", ".opencode/plugins/aurora.js", f".agents/{SKILL}",
                              "AGENTS.md"},
    ("windsurf", "user"): {".codeium/windsurf/mcp_config.json",
                           ".codeium/windsurf/memories/global_rules.md"},
    ("windsurf", "project"): {f".agents/{SKILL}", "AGENTS.md"},
    ("zed", "user"): {".config/zed/settings.json"},
    ("zed", "project"): {".zed/settings.json", f".agents/{SKILL}", "AGENTS.md"},
    ("cline", "user"): {".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/"
                        "cline_mcp_settings.json"},
    ("cline", "project"): {f".agents/{SKILL}", "AGENTS.md"},
}  # fmt: skip


def test_every_agent_and_scope_is_listed() -> None:
    assert {name for name, _ in FILES} == set(AGENTS)
    assert len(FILES) == 2 * len(AGENTS)


@pytest.mark.parametrize(("agent", "scope"), FILES, ids="-".join)
def test_an_agent_gets_its_files_and_loses_them_again(
    machine: Machine, agent: str, scope: str
) -> None:
    machine.write({".config/Code/User/settings.json": "{}"})
    before = machine.picture()
    plan = machine.install(agent, scope=Scope(scope))

    root = machine.home if scope == "user" else machine.project
    written = {change.file.relative_to(root).as_posix() for change in plan.changes}
    assert (written, plan.problems) == (FILES[agent, scope], [])
    for name in written:
        text = (root / name).read_text(encoding="utf-8")
        if name.endswith(".json"):
            json.loads(text)
        elif name.endswith(".toml"):
            tomllib.loads(text)
        mode = stat.S_IMODE((root / name).stat().st_mode)
        assert mode & 0o077 == 0 or scope == "project"
    assert machine.plan(agent, scope=Scope(scope)).changes == []
    assert stat.S_IMODE((machine.memory / FILE).stat().st_mode) == 0o600

    assert machine.uninstall().problems == []
    assert machine.picture() == before
    assert not (machine.memory / FILE).exists()


@pytest.mark.parametrize(
    ("agent", "file", "path", "entry"),
    [
        ("claude-code", ".claude.json", ("mcpServers",),
         {"type": "stdio", "alwaysLoad": True, "command": COMMAND[0], "args": ["mcp"]}),
        ("gemini-cli", ".gemini/settings.json", ("mcpServers",),
         {"command": COMMAND[0], "args": ["mcp"]}),
        ("cursor", ".cursor/mcp.json", ("mcpServers",),
         {"type": "stdio", "command": COMMAND[0],
          "args": ["mcp", "--memory", "${workspaceFolder}"]}),
        ("vscode", ".config/Code/User/mcp.json", ("servers",),
         {"type": "stdio", "command": COMMAND[0],
          "args": ["mcp", "--memory", "${workspaceFolder}"]}),
        ("copilot-cli", ".copilot/mcp-config.json", ("mcpServers",),
         {"type": "local", "command": COMMAND[0], "args": ["mcp"], "tools": ["*"]}),
        ("opencode", ".config/opencode/opencode.json", ("mcp",),
         {"type": "local", "command": [COMMAND[0], "mcp"], "enabled": True}),
        ("windsurf", ".codeium/windsurf/mcp_config.json", ("mcpServers",),
         {"command": COMMAND[0], "args": ["mcp"]}),
        ("zed", ".config/zed/settings.json", ("context_servers",),
         {"command": COMMAND[0], "args": ["mcp"]}),
    ],
)  # fmt: skip
def test_the_entry_is_in_the_form_of_the_agent(
    machine: Machine, agent: str, file: str, path: tuple[str, ...], entry: dict[str, object]
) -> None:
    machine.write({".config/Code/User/settings.json": "{}"})
    machine.install(agent)
    tree = tree_of((machine.home / file).read_text(encoding="utf-8"))
    assert at(tree, *path) == {"aurora": entry}


def test_codex_waits_for_a_persons_server_and_starts_without_that_of_a_project(
    machine: Machine,
) -> None:
    machine.install("codex")
    machine.install("codex", scope=Scope.PROJECT, command=("aur",))
    entries = [
        tomllib.loads((root / ".codex/config.toml").read_text())["mcp_servers"]["aurora"]
        for root in (machine.home, machine.project)
    ]
    assert entries == [
        {"required": True, "command": COMMAND[0], "args": ["mcp"]},
        {"command": "aur", "args": ["mcp"]},
    ]


def test_a_folder_that_a_variable_names_is_used(machine: Machine, tmp_path: Path) -> None:
    machine.environ = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "c"),
        "CODEX_HOME": str(tmp_path / "x"),
        "GEMINI_CLI_HOME": str(tmp_path / "g"),
        "COPILOT_HOME": str(tmp_path / "p"),
        "XDG_CONFIG_HOME": str(tmp_path / "o"),
    }
    machine.install("claude-code", "codex", "gemini-cli", "copilot-cli", "opencode")
    files = ("c/.claude.json", "c/settings.json", f"c/{SKILL}", "x/config.toml", "x/AGENTS.md",
             "g/.gemini/settings.json", "p/mcp-config.json",
             "o/opencode/opencode.json")  # fmt: skip
    assert [name for name in files if not (tmp_path / name).is_file()] == []
    assert {path.name for path in machine.home.iterdir()} == {".agents"}


@pytest.mark.parametrize(
    ("agent", "files"),
    [(name, {f"{agent.folders[0]}/x": ""}) for name, agent in AGENTS.items()],
)
def test_an_agent_is_found_by_its_folder(
    machine: Machine, agent: str, files: dict[str, str]
) -> None:
    assert not machine.person.has(AGENTS[agent])
    machine.write(files)
    assert machine.person.has(AGENTS[agent])


def test_an_agent_is_found_by_its_command(machine: Machine) -> None:
    machine.write({"bin/gemini": "#!/bin/sh\n"})
    (machine.home / "bin/gemini").chmod(0o755)
    machine.environ = {"PATH": str(machine.home / "bin")}
    assert [name for name, agent in AGENTS.items() if machine.person.has(agent)] == ["gemini-cli"]


# ---- What was there before

SETTINGS = {
    "missing": None,
    "empty": "",
    "one line": '{"theme": "x", "hooks": {"SessionStart": [{"hooks": [{"type": "command", '
    '"command": "echo mine"}]}]}}',
    "four spaces": '{\n    "mcpServers": {\n        "mine": {"command": "x"}\n    }\n}\n',
    "tabs and CRLF": '{\r\n\t"hooks": {\r\n\t\t"BeforeAgent": []\r\n\t},\r\n\t"a": 1\r\n}',
    "BOM": '\ufeff{\n  "a": 1\n}\n',
    "comments": '// top\n{\n  // one\n  "a": 1, // two\n  "mcpServers": {\n'
    "    /* three */\n  },\n}\n",
    "an entry of ours": '{"mcpServers": {"aurora": {"command": "other", "env": {"A": "b"}}}}',
    "empty parts": '{ "mcpServers" : { } , "hooks" : { } }\n\n',
}  # fmt: skip


@pytest.mark.parametrize("before", SETTINGS.values(), ids=SETTINGS)
def test_settings_are_restored_byte_for_byte(machine: Machine, before: str | None) -> None:
    if before is not None:
        machine.write({".gemini/settings.json": before.encode()})
    picture = machine.picture()
    machine.install("gemini-cli")
    text = (machine.home / ".gemini/settings.json").read_bytes().decode()
    tree = tree_of(text)
    assert at(tree, "mcpServers", "aurora", "command") == COMMAND[0]
    for key, value in tree_of(before or "").items():
        if isinstance(value, dict):
            assert set(value) <= set(at(tree, key))  # type: ignore[call-overload]
        else:
            assert tree[key] == value
    assert all(words in text for words in ("// one", "/* three */") if words in (before or ""))
    machine.uninstall()
    assert machine.picture() == picture


@pytest.mark.parametrize("before", [text for text in SETTINGS.values() if text], ids=len)
def test_what_others_change_later_stays(machine: Machine, before: str) -> None:
    """As a client does that writes all of its settings anew."""
    machine.write({".gemini/settings.json": before.encode()})
    machine.install("gemini-cli")
    file = machine.home / ".gemini/settings.json"
    tree = tree_of(file.read_bytes().decode())
    file.write_text(json.dumps({**tree, "numStartups": 2}, indent=2), encoding="utf-8")
    plan = machine.uninstall()
    assert [change.edited for change in plan.changes if change.file == file] == [True]
    assert tree_of(file.read_text()) == {**tree_of(before), "numStartups": 2}


def test_hooks_of_others_stay_in_their_order(machine: Machine) -> None:
    theirs = {"hooks": [{"type": "command", "command": "echo theirs"}]}
    machine.write({".claude/settings.json": json.dumps({"hooks": {"Stop": [theirs]}}, indent=2)})
    machine.install("claude-code")
    file = machine.home / ".claude/settings.json"
    hooks = at(tree_of(file.read_text()), "hooks")
    assert isinstance(hooks, dict)
    assert hooks["Stop"][0] == theirs
    assert hooks["Stop"][1]["hooks"][0]["command"] == (
        f"{COMMAND[0]} hook claude-code Stop || exit 0"
    )
    hooks["Stop"].append({"hooks": [{"type": "command", "command": "echo later"}]})
    file.write_text(json.dumps({"hooks": hooks}, indent=4))
    machine.uninstall()
    left = [theirs, {"hooks": [{"type": "command", "command": "echo later"}]}]
    assert tree_of(file.read_text()) == {"hooks": {"Stop": left}}


@pytest.mark.parametrize(
    "before", ["", "# Mine\n", "# Mine", "# Mine\r\n\r\nText.\r\n", "\ufeff# M\n"]
)
def test_a_block_is_appended_and_taken_out(before: str) -> None:
    block = Block("Search first.\n")
    text = block.put(before)
    assert text.startswith(before)
    assert block.is_in(text)
    newline = "\r\n" if "\r\n" in before else "\n"
    assert newline.join((BEGIN, "Search first.", END, "")) in text
    assert block.take(text).rstrip("\n") == before.rstrip("\n")


def test_an_older_block_is_replaced_where_it_stands() -> None:
    text = Block("Old.").put("# Mine\n") + "\nMore of mine.\n"
    newer = Block("New.\nAnd longer.").put(text)
    assert newer == text.replace("Old.", "New.\nAnd longer.")
    assert Block("New.").take(newer) == "# Mine\n\n\nMore of mine.\n"


def test_a_block_without_an_end_is_refused(machine: Machine) -> None:
    machine.write({".gemini/GEMINI.md": f"# Mine\n\n{BEGIN}\nText"})
    picture = machine.picture()
    (problem,) = machine.install("gemini-cli", parts=("block",)).problems
    assert "the block that begins in line 3 has no line" in problem.message
    assert machine.picture() == picture


@settings(max_examples=examples(60))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab \n\"'{}[],/*é", max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["hooks", "Stop", "x", ""]), inner, max_size=3)
        ),
        max_leaves=8,
    ).filter(lambda tree: isinstance(tree, dict)),
    st.sampled_from([None, 2, "\t"]),
)
def test_taking_out_is_the_inverse_of_putting_in(tree: object, indent: int | str | None) -> None:
    """In any JSON whose `hooks` has the expected form."""
    text = json.dumps(tree, indent=indent, ensure_ascii=False)
    hooks = tree.get("hooks", {}) if isinstance(tree, dict) else {}
    if not isinstance(hooks, dict) or not isinstance(hooks.get("Stop", []), list):
        return
    for addition in (JsonElement(("hooks", "Stop"), {"a": 1}), JsonMember(("new", "aurora"), [1])):
        fitted = addition.fitted(text)
        assert fitted is not None
        put = fitted.put(text)
        assert fitted.is_in(put)
        assert fitted.take(put) == text


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_an_undo_restores(before: str, after: str) -> None:
    at_, length, old = undo_between(before, after)
    assert after[:at_] + old + after[at_ + length :] == before


# ---- Installing again


def test_another_version_replaces_its_parts_and_is_undone_too(machine: Machine) -> None:
    machine.write({".claude/settings.json": '{"model": "x"}', ".claude/CLAUDE.md": "# Mine\n"})
    before = machine.picture()
    machine.install("claude-code", command=("/old/aur",))
    machine.install("claude-code")
    text = (machine.home / ".claude/settings.json").read_text()
    assert ("/old/aur" in text, text.count(COMMAND[0])) == (False, 7)
    machine.uninstall()
    assert machine.picture() == before


def test_what_is_left_out_the_second_time_goes(machine: Machine) -> None:
    machine.write({".gemini/settings.json": '{\n "a": 1\n}'})
    before = machine.picture()
    machine.install("gemini-cli")
    machine.install("gemini-cli", parts=("mcp", "skill"))
    assert set(tree_of((machine.home / ".gemini/settings.json").read_text())) == {"a", "mcpServers"}
    assert not (machine.home / ".gemini/GEMINI.md").exists()
    machine.uninstall()
    assert machine.picture() == before


def test_agents_share_a_file_until_the_last_one_goes(machine: Machine) -> None:
    machine.install("codex", "opencode", scope=Scope.PROJECT)
    text = (machine.project / "AGENTS.md").read_text()
    assert text.count(BEGIN) == 1
    machine.uninstall("codex")
    assert (machine.project / "AGENTS.md").read_text() == text
    assert not (machine.project / ".codex").exists()
    machine.uninstall("opencode")
    assert list(machine.project.iterdir()) == []


def test_what_was_there_before_us_stays(machine: Machine) -> None:
    """An entry that `aur mcp config` wrote, the same as ours."""
    machine.install("gemini-cli", parts=("mcp",))
    (machine.memory / FILE).unlink()
    before = machine.picture()
    machine.install("gemini-cli", parts=("mcp",))
    machine.uninstall()
    assert machine.picture() == before


# ---- Trouble


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        (".gemini/settings.json", '{\n  "a": 1,\n  b\n}', "line 3 is not plain JSON"),
        (".gemini/settings.json", '{"mcpServers": []}', "'mcpServers' in it is not an object"),
        (".gemini/settings.json", '{"hooks": {"SessionStart": {}}}', "is not a list"),
        (".gemini/settings.json", b"\xff\xfe{}", "it is not UTF-8"),
        (".agents/skills/aurora/SKILL.md", "mine", "another content than ours"),
        (".codex/config.toml", "a = \n", "it is not TOML"),
        (".codex/config.toml", "mcp_servers = {aurora = {command = 'x'}}\n", "cannot be extended"),
    ],
)
def test_a_file_that_is_not_sure_is_left_and_the_others_are_written(
    machine: Machine, file: str, content: str | bytes, reason: str
) -> None:
    machine.write({file: content})
    before = machine.picture()
    plan = machine.install("gemini-cli", "codex")
    (problem,) = plan.problems
    assert problem.file == machine.home / file
    assert reason in problem.message
    assert file in problem.message
    assert machine.picture()[f"home/{file}"] == before[f"home/{file}"]
    assert (machine.home / ".codex/AGENTS.md").exists()
    machine.uninstall()
    assert machine.picture() == before


@pytest.mark.skipif(IS_ROOT, reason="root writes everywhere")
def test_a_read_only_file_is_left(machine: Machine) -> None:
    machine.write({".gemini/settings.json": "{}"})
    (machine.home / ".gemini/settings.json").chmod(0o444)
    (problem,) = machine.install("gemini-cli").problems
    assert "it is read-only" in problem.message


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a file away")
@pytest.mark.parametrize("path", [".gemini", ".gemini/settings.json"])
def test_what_belongs_to_another_user_is_left(machine: Machine, path: str) -> None:
    machine.write({".gemini/settings.json": "{}"})
    os.chown(machine.home / path, 12345, -1)
    before = machine.picture()
    problems = machine.install("gemini-cli", parts=("mcp",)).problems
    if path == ".gemini":  # the file in it is ours
        assert problems == []
        machine.uninstall()
    else:
        assert "belongs to another user" in problems[0].message
    assert machine.picture() == before


def test_a_link_of_the_person_stays_a_link(machine: Machine) -> None:
    machine.write({"dotfiles/settings.json": "{}"})
    (machine.home / ".gemini").mkdir()
    (machine.home / ".gemini/settings.json").symlink_to(machine.home / "dotfiles/settings.json")
    before = machine.picture()
    machine.install("gemini-cli", parts=("mcp",))
    assert (machine.home / ".gemini/settings.json").is_symlink()
    assert "aurora" in (machine.home / "dotfiles/settings.json").read_text()
    machine.uninstall()
    assert machine.picture() == before


@pytest.mark.parametrize("link", [".claude", ".claude/settings.json", "CLAUDE.md"])
def test_nothing_is_written_through_a_link_out_of_the_project(machine: Machine, link: str) -> None:
    machine.write({"elsewhere/x": ""})
    place = machine.project / link
    place.parent.mkdir(exist_ok=True)
    target = machine.home / ("elsewhere/x" if place.suffix else "elsewhere")
    place.symlink_to(target)
    plan = machine.install("claude-code", scope=Scope.PROJECT)
    assert plan.problems
    assert all("leads out of the project" in problem.message for problem in plan.problems)
    assert (machine.home / "elsewhere/x").read_text() == ""
    assert [path.name for path in (machine.home / "elsewhere").iterdir()] == ["x"]
    assert (machine.project / ".mcp.json").exists()


def test_a_link_that_came_later_is_not_followed(machine: Machine) -> None:
    machine.write({"elsewhere/settings.json": '{"mine": 1}'})
    machine.install("claude-code", scope=Scope.PROJECT, parts=("hooks",))
    file = machine.project / ".claude/settings.json"
    file.rename(machine.home / "elsewhere/ours.json")
    file.symlink_to(machine.home / "elsewhere/ours.json")
    before = machine.picture()
    (problem,) = machine.uninstall().problems
    assert "leads out of the project" in problem.message
    assert machine.picture() == before
    file.unlink()
    assert machine.uninstall().problems == []
    assert list(machine.project.iterdir()) == []


def test_a_file_that_cannot_be_read_now_is_taken_out_of_later(machine: Machine) -> None:
    machine.write({".gemini/settings.json": '{"a": 1}'})
    before = machine.picture()
    machine.install("gemini-cli")
    file = machine.home / ".gemini/settings.json"
    text = file.read_text()
    for act in (machine.install, machine.uninstall):
        file.write_text(text + "oops")
        (problem,) = act("gemini-cli").problems
        assert "is not plain JSON" in problem.message
        assert file in machine.manifest
    file.write_text(text)
    assert machine.uninstall().problems == []
    assert machine.picture() == before


def test_two_names_of_one_file_get_one_block(machine: Machine) -> None:
    machine.write({"shop/AGENTS.md": "# Ours\n"})
    (machine.project / "CLAUDE.md").symlink_to("AGENTS.md")
    before = machine.picture()
    machine.install("claude-code", "codex", scope=Scope.PROJECT)
    assert (machine.project / "AGENTS.md").read_text().count(BEGIN) == 1
    machine.uninstall()
    assert machine.picture() == before


def test_a_damaged_manifest_is_named(machine: Machine) -> None:
    machine.install("gemini-cli")
    for content in ("{", "[]", '{"version": 1, "files": [{}]}', '{"version": 9, "files": []}'):
        (machine.memory / FILE).write_text(content)
        with pytest.raises(Exception, match=r"installed\.json"):
            load(machine.memory)


KILLED = """
import os, signal
from pathlib import Path
from tests.install.machine import Machine
replace, unlink, left = Path.replace, Path.unlink, {after}
def counted(act):
    def run(self, *given, **named):
        global left
        if not self.name.endswith(".lock"):
            left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(self, *given, **named)
    return run
Path.replace, Path.unlink = counted(replace), counted(unlink)
machine = Machine(Path({folder!r}))
machine.{act}(*({agents!r}))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("after", [1, 2, 4, 6, 8])
@pytest.mark.parametrize("act", ["install", "uninstall"])
def test_killed_at_any_point_it_is_undone_completely(
    machine: Machine, act: str, after: int
) -> None:
    machine.write({".gemini/settings.json": '{"a": 1}', ".gemini/GEMINI.md": "# Mine"})
    before = machine.picture()
    if act == "uninstall":
        machine.install("gemini-cli")
    script = KILLED.format(folder=str(machine.folder), act=act, after=after,
                           agents=("gemini-cli",) if act == "install" else ())  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], check=False, cwd=ROOT)
    assert done.returncode in (0, -signal.SIGKILL)
    machine.uninstall()
    assert machine.picture() == before
    machine.install("gemini-cli")
    assert machine.plan("gemini-cli").changes == []


def test_two_installs_at_once_write_everything_once(machine: Machine) -> None:
    script = (
        "from pathlib import Path; from tests.install.machine import Machine; "
        f"Machine(Path({str(machine.folder)!r})).install('claude-code', 'gemini-cli')"
    )
    runs = [subprocess.Popen([sys.executable, "-c", script], cwd=ROOT) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    text = (machine.home / ".claude/settings.json").read_text()
    assert text.count(COMMAND[0]) == 7
    machine.uninstall()
    assert list(machine.home.iterdir()) == []


def test_a_file_that_changes_while_it_is_planned_is_left(machine: Machine) -> None:
    from aurora.install.plan import carry_out

    machine.write({".gemini/settings.json": "{}"})
    plan = machine.plan("gemini-cli")
    (machine.home / ".gemini/settings.json").write_text('{"new": 1}')
    carry_out(plan, machine.memory, {})
    assert ["has just been changed" in problem.message for problem in plan.problems] == [True]
    assert (machine.home / ".gemini/settings.json").read_text() == '{"new": 1}'
    machine.uninstall()
    assert (machine.home / ".gemini/settings.json").read_text() == '{"new": 1}'
