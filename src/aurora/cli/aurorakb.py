"""`aur db import-aurorakb`: the documents of an AuroraKB into this memory."""

from __future__ import annotations

import click

from aurora.cli.index import places_for_index
from aurora.cli.session import end_in_part, open_memory, tell
from aurora.text import many

_KEPT = "What was taken in so far is kept; the same command goes on from there."


@click.command(
    "import-aurorakb",
    epilog="""\b
Examples:
  aur db import-aurorakb --from postgresql://ada@db.example.org/aurorakb
  aur db import-aurorakb --from postgresql://db/kb --table kb.documents --namespace-prefix kb/
\b
Reads the columns id, content, metadata_json, namespace, document_type, source and created_at;
only the first two must be there. Nothing is written to it. The id is kept as the metadata
aurorakb_id, so the same again changes nothing, and an edited document takes its own place.
Vectors are made anew by this memory's own model. Exits with 1 when a document was left out.""",
)
@click.option("--from", "url", metavar="URL", required=True, help="The database of AuroraKB.")
@click.option("--table", default="documents", show_default=True, help="Its table of documents.")
@click.option(
    "--namespace-prefix", "prefix", default="", metavar="TEXT",
    help="What comes before each namespace.",
)  # fmt: skip
def import_aurorakb(url: str, *, table: str, prefix: str) -> None:
    """Take the documents of an AuroraKB into this memory, wherever it is kept."""
    with open_memory(places_for_index()) as memory:
        try:
            taken = memory.import_aurorakb(url, table=table, prefix=prefix)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_KEPT) from None
        finally:
            tell.finish()
    click.echo(
        f"Took in {many(taken.documents, 'document')} "
        f"({taken.added} new, {taken.replaced} changed, {taken.unchanged} as they were)"
    )
    if taken.left_out:
        click.echo(f"Left out {many(taken.left_out, 'document')}", err=True)
        end_in_part()
