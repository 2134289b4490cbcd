"""The packages in `plugins/` have the documented fields, and the agents' programs accept them.

That they are up to date is in `tests/test_docs.py`, with all that `docs/generate.py` writes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from aurora.install.guidance import SKILL
from tests.mcp.model_servers import CLAUDE, CODEX, FOLDER, run_node
from tests.sources.sessions.clients import GEMINI

pytestmark = pytest.mark.one_store("about packages for agents")
ROOT = Path(__file__).parents[2]

# The fields that each agent's documentation names: those that must be there, and others.
FIELDS = {
    # https://code.claude.com/docs/en/plugin-marketplaces
    ".claude-plugin/marketplace.json": ({"name", "owner", "plugins"}, {"description"}),
    # https://code.claude.com/docs/en/plugins-reference
    "plugins/claude-code/.claude-plugin/plugin.json":
        ({"name"}, {"version", "description", "author", "license", "keywords"}),
    "plugins/claude-code/.mcp.json": ({"mcpServers"}, set()),
    "plugins/claude-code/hooks/hooks.json": ({"hooks"}, set()),
    # https://developers.openai.com/codex/plugins/build
    ".agents/plugins/marketplace.json": ({"name", "plugins"}, {"interface"}),
    "plugins/codex/.codex-plugin/plugin.json":
        ({"name", "version", "description"},
         {"author", "license", "keywords", "skills", "mcpServers", "hooks", "interface"}),
    "plugins/codex/.mcp.json": ({"mcpServers"}, set()),
    "plugins/codex/hooks/hooks.json": ({"hooks"}, set()),
    # docs/extensions/reference.md and docs/hooks/index.md in the package of Gemini CLI
    "plugins/gemini-cli/gemini-extension.json":
        ({"name", "version"}, {"description", "mcpServers", "contextFileName"}),
    "plugins/gemini-cli/hooks/hooks.json": ({"hooks"}, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_a_manifest_has_the_documented_fields(name: str) -> None:
    needed, others = FIELDS[name]
    tree = json.loads((ROOT / name).read_text(encoding="utf-8"))
    assert needed <= set(tree) <= needed | others


def test_what_a_manifest_names_is_there() -> None:
    claude = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    codex = json.loads((ROOT / ".agents/plugins/marketplace.json").read_text())["plugins"]
    folders = [each["source"] for each in claude] + [each["source"]["path"] for each in codex]
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
    manifest = json.loads((ROOT / "plugins/codex/.codex-plugin/plugin.json").read_text())
    parts = [manifest[key] for key in ("skills", "mcpServers", "hooks")]
    assert [part for part in parts if not (ROOT / "plugins/codex" / part).exists()] == []


def test_the_skill_has_a_name_and_a_description_within_the_limits() -> None:
    """https://agentskills.io/specification"""
    found = re.match(r"---\nname: ([a-z-]+)\ndescription: >-\n((?:  .+\n)+)---\n", SKILL)
    assert found is not None
    assert (found[1], len(found[2]) <= 1024) == ("aurora", True)
    assert len(SKILL.splitlines()) < 500


@pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"{FOLDER} is missing: `make test-full` installs the clients"
)
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((CLAUDE, "plugin", "validate", "."), "Validation passed"),
        ((CLAUDE, "plugin", "validate", "plugins/claude-code", "--strict"), "Validation passed"),
        ((GEMINI, "extensions", "validate", "plugins/gemini-cli"), "successfully validated"),
    ],
    ids=["marketplace", "claude-code", "gemini-cli"],
)
def test_an_agent_finds_its_package_valid(
    tmp_path: Path, command: tuple[str | Path, ...], told: str
) -> None:
    done = run_agent(tmp_path, *command)
    assert (done.returncode, told in done.stdout + done.stderr) == (0, True), done.stdout


@pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"{FOLDER} is missing: `make test-full` installs the clients"
)
def test_claude_code_and_codex_install_their_packages(tmp_path: Path) -> None:
    for program, words in ((CLAUDE, ("install",)), (CODEX, ("add",))):
        run_agent(tmp_path, program, "plugin", "marketplace", "add", str(ROOT))
        run_agent(tmp_path, program, "plugin", *words, "aurora@aurora")
        listed = run_agent(tmp_path, program, "plugin", "list")
        assert "aurora@aurora" in listed.stdout, listed.stdout + listed.stderr
        assert "enabled" in listed.stdout
    assert re.search(r"^aurora +aur +mcp", run_agent(tmp_path, CODEX, "mcp", "list").stdout, re.M)


def run_agent(home: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "GEMINI_CLI_NO_RELAUNCH": "true"}
    return run_node(command, ROOT, environ)
