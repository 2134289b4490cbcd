"""Writes docs/reference and the help that `aur` shows, from the code, so that none can be wrong.

`make docs` runs it.

python docs/generate.py            write
python docs/generate.py --check    fail when what is written is out of date
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from aurora.cli.main import cli
from aurora.config.schema import CATALOGUE, Guard

ROOT = Path(__file__).parents[1]
os.environ["COLUMNS"] = "80"  # whoever runs this, and wherever
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
        parts += [f"## {' '.join(path)}", "", "```text", help_of(path, command).rstrip(), "```", ""]
    return "\n".join(parts)


def written_help() -> str:
    """What `aurora.cli.start` answers: each part begins with the words that ask for it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [f"aur --version\naur, version {project['version']}\n"]
    for path, command in walk(cli, ("aur",)):
        name = " ".join(path)
        asked = [
            f"{name} -h",
            f"{name} --help",
            *([name] if _only_groups(command) else []),
        ]
        parts.append(f"{' | '.join(asked)}\n{help_of(path, command)}\n")
    return "\f".join(parts)


def _only_groups(command: click.Command) -> bool:
    """Whether it does nothing by itself: without a word more it can only tell what there is."""
    return isinstance(command, click.Group) and not command.invoke_without_command


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
    "src/aurora/cli/help.txt": written_help,
}


def main() -> int:
    if "--check" in sys.argv:
        stale = [name for name, page in PAGES.items() if _read(ROOT / name) != page()]
        for name in stale:
            print(f"{name} is out of date: run make docs")
        return len(stale)
    for name, page in PAGES.items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(page(), encoding="utf-8")
    return 0


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
