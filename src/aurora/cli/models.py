"""`aur models`: list, install and remove the embedding models of the provider `onnx`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aurora.cli.completers import complete_files, completer, starting
from aurora.cli.session import confirm, find_places, tell
from aurora.cli.terminal import print_json, print_text
from aurora.config.places import shown
from aurora.display.reports import megabytes, models_record, render_models
from aurora.embeddings.hub import HUB
from aurora.embeddings.model_folders import list_models, remove_model, require_model
from aurora.errors import QueryError
from aurora.report_types import ModelState
from aurora.types import Note


def models_folder() -> Path:
    """The folder of the user's models."""
    return find_places().home / "models"


def _names(*, known: bool) -> list[str]:
    entries = list_models(models_folder())
    return [entry.name for entry in entries if known or entry.state is not ModelState.KNOWN]


_complete_models = completer(lambda _, typed: starting(_names(known=True), typed))
_complete_installed = completer(lambda _, typed: starting(_names(known=False), typed))


@click.command(
    "list",
    epilog="""\b
Examples:
  aur models list
  aur models list --json | jq -r '.models[] | select(.state == "installed").name'
\b
A model is installed, damaged, or known: `aur models pull NAME --from hub` installs it. As JSON:
{"folder": …, "models": [{"name", "state", "dimension", "window", "bytes", "licence",
"source"}]}.""",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def list_(*, as_json: bool) -> None:
    """List the known and installed models. Does not use the network."""
    folder = models_folder()
    entries = list_models(folder)
    if as_json:
        print_json(models_record(entries, str(folder)))
    else:
        print_text(render_models(entries))


@click.command(
    epilog="""\b
Examples:
  aur models pull all-minilm-l6-v2 --from hub         from huggingface.co, or HF_ENDPOINT
  aur models pull bge-small --from hub:BAAI/bge-small-en-v1.5
  aur models pull bge-small --from ./bge-small-en-v1.5
\b
A folder has tokenizer.json and an ONNX graph, as model.onnx or onnx/model.onnx. Only the hub
uses the network. Without --from, the error names the source of a known model.
Needs the extra onnx: `aur doctor` shows how to add it."""
)
@click.argument("name", shell_complete=_complete_models)
@click.option(
    "--from", "source", metavar="SOURCE", default="", shell_complete=complete_files,
    help="A folder, hub, or hub:OWNER/NAME[@REVISION].",
)  # fmt: skip
def pull(name: str, source: str) -> None:
    """Install an ONNX model, and try it with one text. Replaces an installed one."""
    from aurora.embeddings.model_pull import pull_model  # loads numpy

    click.get_current_context().call_on_close(tell.finish)
    folder = models_folder()
    endpoint = os.environ.get("HF_ENDPOINT") or HUB
    manifest = pull_model(folder, name, source, endpoint=endpoint, listen=tell)
    tell.finish()
    (size,) = (entry.size for entry in list_models(folder) if entry.name == name)
    numbers = f"{manifest.dimension} numbers a vector, {megabytes(size)}"
    tell(Note(f"{name} is ready: {numbers}, in {shown(folder / name)}"))


@click.command(epilog="\b\nExamples:\n  aur models remove all-minilm-l6-v2\n")
@click.argument("name", shell_complete=_complete_installed)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def remove(name: str, *, yes: bool) -> None:
    """Delete an installed model. Memories keep the vectors that it made."""
    folder = models_folder()
    require_model(folder, name)
    error = QueryError(f"This would remove the model {name}", hint="confirm with --yes")
    if not yes:
        confirm(f"Remove the model {name}?", error=error, refused="Nothing was removed.")
    remove_model(folder, name)
    click.echo(f"Removed {name}")
