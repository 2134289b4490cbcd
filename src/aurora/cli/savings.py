"""`aur savings`: what agents asked and were given, from the local log of numbers."""

from __future__ import annotations

import time

import click

from aurora.cli.session import find_places
from aurora.cli.terminal import print_json, print_text
from aurora.display.usage_table import render_savings, savings_record
from aurora.usage_log import memory_key, read_usage


@click.command(
    epilog="""\b
Examples:
  aur savings               all projects
  aur savings --here        this project's memory
  aur savings --days 7
\b
The numbers are those of ~/.aurora/logs/calls.jsonl, which holds no text. Nothing is sent."""
)
@click.option("--here", is_flag=True, help="Only calls to the memory of this folder.")
@click.option(
    "--days", type=click.IntRange(1, 36_500), help="Only calls of the last days; all by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def savings(*, here: bool, days: int | None, as_json: bool) -> None:
    """Show what agents asked, what they were given, and an estimate of what reading would take."""
    places = find_places()
    key = memory_key(places.memory_folder)
    oldest = time.time() - days * 86_400 if days else 0.0
    records = [
        record
        for record in read_usage(places.home)
        if record.time >= oldest and (not here or record.memory == key)
    ]
    if as_json:
        print_json(savings_record(records))
    else:
        print_text(render_savings(records))
