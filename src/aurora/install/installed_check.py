"""What `aur doctor` says of agents: all that `aur install` wrote, and what of it is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from aurora.config.places import shown
from aurora.engine.health import Line, run_checks
from aurora.errors import AuroraError
from aurora.install.additions import Addition
from aurora.install.disk import read_state
from aurora.install.known_agents import AGENTS
from aurora.install.manifest import Record, load
from aurora.report_types import Finding, Level

_PARTS = {"json": "MCP entry", "toml": "MCP entry", "element": "hooks", "block": "guidance"}


def examine_agents(home: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    def check_agents(folder: Path) -> Iterator[Line]:
        for record in load(folder).values():
            yield _judge(record, environ)

    return run_checks("agents", (check_agents,), home)


def part_names(record: Record) -> list[str]:
    """What is in a file, in words: `MCP entry`, `hooks`, `skill`, `guidance`."""
    return list(dict.fromkeys(_part_name(record, each.addition) for each in record.owned))


def _part_name(record: Record, addition: Addition) -> str:
    if addition.kind == "file":
        return "skill" if record.file.name == "SKILL.md" else "hooks"
    is_hooks = addition.kind == "json" and record.file.name == "hooks.json"  # their version
    return "hooks" if is_hooks else _PARTS[addition.kind]


def titles(names: tuple[str, ...]) -> str:
    return ", ".join(AGENTS[name].title if name in AGENTS else name for name in names)


def _judge(record: Record, environ: Mapping[str, str]) -> Line:
    what = f"{titles(record.agents)}: {' and '.join(part_names(record))} in {shown(record.file)}"
    scope = "--project" if record.project else "--user"
    again = f"aur install {' '.join(record.agents)} {scope}"
    if record.project:
        again = f"cd {shown(Path(record.project))} && {again}"
    try:
        content = read_state(record.file).content.decode()
        missing = [each.addition for each in record.owned if not each.addition.is_in(content)]
    except (AuroraError, UnicodeDecodeError) as exc:
        reason = exc.message if isinstance(exc, AuroraError) else "it is not UTF-8"
        return Level.WARN, f"{what}: cannot be checked: {reason}", "mend the file"
    if missing:
        gone = ", ".join(dict.fromkeys(_part_name(record, each) for each in missing))
        text = f"{what}: {gone} gone or changed since"
        return Level.WARN, text, f"`{again}` writes it again, `aur uninstall` forgets it"
    if _names_command(record) and shutil.which(record.command, path=environ.get("PATH")) is None:
        text = f"{what}: the command {record.command} no longer exists"
        return Level.WARN, text, f"`{again}` names the one that runs now"
    return Level.OK, what, ""


def _names_command(record: Record) -> bool:
    values = [getattr(each.addition, "value", "") for each in record.owned]
    return bool(record.command) and record.command in json.dumps(values, ensure_ascii=False)
