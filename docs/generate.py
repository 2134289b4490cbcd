"""Writes docs/reference from the code, so that it cannot be wrong. `make docs` runs it.

python docs/generate.py            write
python docs/generate.py --check    fail when what is written is out of date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from aurora.cli.main import cli
from aurora.config.schema import CATALOGUE, Guard

REFERENCE = Path(__file__).parent / "reference"
_GUARDS = {None: "", Guard.CHOICE: "yes", Guard.OUTSIDE: "outside the project"}


def settings_page() -> str:
    rows = [
        f"| `{setting.key}` | `{_shown(setting.default)}` | {setting.help} | `{setting.variable}` "
        f"| {_GUARDS[setting.guard]} |"
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


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) or '""'


def commands_page() -> str:
    parts = ["# Commands", "", "Generated from `src/aurora/cli` by `make docs`.", ""]
    for path, command in walk(cli, ("aur",)):
        context = click.Context(
            command, info_name=" ".join(path), help_option_names=["-h", "--help"]
        )
        text = command.get_help(context)
        parts += [f"## {' '.join(path)}", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(parts)


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


PAGES = {"settings.md": settings_page, "commands.md": commands_page}


def main() -> int:
    if "--check" in sys.argv:
        stale = [
            name
            for name, page in PAGES.items()
            if (REFERENCE / name).read_text(encoding="utf-8") != page()
        ]
        for name in stale:
            print(f"docs/reference/{name} is out of date: run make docs")
        return len(stale)
    REFERENCE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
