"""Writes what is generated from the code: pages of docs/reference, and the packages in plugins/.

`make docs` runs it.

python docs/generate.py            write
python docs/generate.py --check    fail when what is written is out of date
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from aurora.cli.main import cli
from aurora.config.schema import CATALOGUE, Guard, Setting
from aurora.mcp.answers import FULL_ANSWERS
from aurora.mcp.checked_tool import make_tools
from aurora.mcp.parameters import UNLISTED
from aurora.mcp.tools import Tools
from aurora.serving.pool import MemoryPool
from plugins import plugin_files

ROOT = Path(__file__).parents[1]
os.environ["COLUMNS"] = "80"  # whoever runs this, and wherever
_GUARDS = {
    None: "",
    Guard.CHOICE: "yes",
    Guard.OUTSIDE: "outside the project",
    Guard.AWAY: "where text is sent",
    Guard.SAFETY: "only what switches it off",
}


def settings_page() -> str:
    rows = [
        f"| `{setting.key}` | `{_shown(setting.default)}` | {setting.help} | `{setting.variable}` "
        f"| {_guarded(setting)} |"
        for setting in CATALOGUE.values()
    ]
    return "\n".join([
        "# Settings",
        "",
        "Generated from `src/aurora/config/schema.py` by `make docs`.",
        "",
        "A value comes from the first of these that has one: `aur -c KEY=VALUE`, the environment",
        "variable, the project's `.aurora/config.yml`, the user's `~/.aurora/config.yml`, the",
        "default. A key with dots is nested in the files. *Guarded* settings are ignored in a",
        "project's file until you have read it and run `aur config approve`.",
        "",
        "| key | default | meaning | variable | guarded |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def _guarded(setting: Setting) -> str:
    if setting.unapproved_most is not None:
        return f"more than {setting.unapproved_most:g}"
    return _GUARDS[setting.guard]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) or '""'


def commands_page() -> str:
    parts = ["# Commands", "", "Generated from `src/aurora/cli` by `make docs`.", ""]
    for path, command in walk(cli, ("aur",)):
        parts += [f"## {' '.join(path)}", "", "```text", help_of(path, command).rstrip(), "```", ""]
    return "\n".join(parts)


def tools_page() -> str:
    """The tools with all that they take, and the fields of full answers."""
    tools = make_tools(Tools(MemoryPool({"project": Path()}, {})), read_only=False)
    parts = [
        "# Tools of `aur mcp`",
        "",
        "Generated from `src/aurora/mcp` by `make docs`. [The guide](../guide/agents.md) says how",
        "to use them, and what a brief answer looks like. Clients are not told of the parameters",
        "marked *not listed*, and only of `memory` if there are several; all are taken.",
    ]
    for tool in tools:
        hints = tool.annotations.model_dump(exclude_none=True) if tool.annotations else {}
        said = "reads only" if "read_only_hint" in hints else "changes the memory"
        removes = ", removes" if hints.get("destructive_hint") else ""
        schema = tool.fn_metadata.arg_model.model_json_schema()
        parts += ["", f"## {tool.name}", "", f"{tool.description}", "", f"*{said}{removes}*", ""]
        parts += _table("parameter", schema)
    parts += [
        "",
        "## Full answers",
        "",
        "With `detail=full` a search and `aurora_retrieve` answer all known fields; the other",
        "tools always do. Beside the fields stand `notice`, `begin` and `end`: the marks.",
    ]
    for model in FULL_ANSWERS:
        schema = model.model_json_schema()
        parts += ["", f"### {model.__name__}", "", f"{model.__doc__}", "", *_table("field", schema)]
    return "\n".join([*parts, ""])


def _table(head: str, schema: Mapping[str, Any]) -> list[str]:
    """Of parameters, what is required is told; of fields, what is missing needs no word."""
    needed = schema.get("required", ()) if head == "parameter" else ()
    rows = [
        f"| `{name}` | {_type(one)} | {'required' if name in needed else _default(one)} "
        f"| {'*not listed* ' if one.get(UNLISTED) else ''}{one.get('description', '')} |"
        for name, one in schema.get("properties", {}).items()
    ]
    if not rows:
        return ["Takes nothing."] if head == "parameter" else []
    return [f"| {head} | type | default | meaning |", "|---|---|---|---|", *rows]


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return ", ".join(schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(kind) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    low = schema.get("minimum", schema.get("minLength"))
    high = schema.get("maximum", schema.get("maxLength"))
    if high is None:
        return ""
    unit = " characters" if "maxLength" in schema else ""
    return f" ({low:g} to {high:,}{unit})" if low is not None else f" (up to {high:,}{unit})"


def _default(schema: Mapping[str, Any]) -> str:
    value = schema.get("default")
    return "" if value is None or value == "" else f"`{json.dumps(value)}`"


def help_of(path: tuple[str, ...], command: click.Command) -> str:
    names = ["-h", "--help"]
    context = click.Context(command, info_name=" ".join(path), help_option_names=names)
    return command.get_help(context)


def walk(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from walk(inner, (*path, name))


PAGES = {
    "docs/reference/settings.md": settings_page,
    "docs/reference/commands.md": commands_page,
    "docs/reference/mcp.md": tools_page,
    **{name: partial(str, text) for name, text in plugin_files().items()},
}


def main() -> int:
    if "--check" in sys.argv:
        stale = [name for name, page in PAGES.items() if _read(ROOT / name) != page()]
        for name in stale:
            print(f"{name} is out of date: run make docs")
        return len(stale)
    for name, page in PAGES.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(page(), encoding="utf-8")
    return 0


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
