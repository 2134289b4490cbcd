"""Draw a real search in this repository as SVG, from what the terminal shows.

    make picture        # python docs/picture.py > docs/search.svg

The search runs in a pseudo-terminal, because the colours are for terminals only.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
AUR = Path(sys.executable).with_name("aur")
COLUMNS = 118
SEARCHES = (
    ["mem", "search", "how is a damaged index file noticed", "--limit", "4"],
    ["mem", "search", "BM25Scorer", "--limit", "1", "--show-scores"],
)
# Rich's own template loads a font from the network.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
font-size: {char_height}px;
line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    subprocess.run([AUR, "mem", "index", "."], cwd=ROOT, check=True, stdout=sys.stderr)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        for words in SEARCHES:
            typed = " ".join(f'"{word}"' if " " in word else word for word in words)
            console.print(Text(f"$ aur {typed}", style="bold"))
            console.print(Text.from_ansi(shown(words)))
    svg = console.export_svg(
        title="aur mem search", theme=DIMMED_MONOKAI, code_format=FORMAT, unique_id="aurora"
    )
    sys.stdout.write(svg)


def shown(words: list[str]) -> str:
    """What a terminal shows of one command, with its colours."""
    ours, theirs = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen([AUR, *words], cwd=ROOT, stdout=theirs, env=environ) as running:
        os.close(theirs)
        output = b""
        try:
            while some := os.read(ours, 65536):
                output += some
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(ours)
    if running.returncode:
        sys.exit(f"`aur {' '.join(words)}` failed with status {running.returncode}")
    return output.decode().replace("\r\n", "\n")


if __name__ == "__main__":
    main()
