"""Count what a reader of the code has to hold in the head: files, lines, and what a search runs.

    python benchmarks/structure.py

The two commands run on a project of two files and four chunks, in a folder of their own.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import aurora

SOURCE = Path(aurora.__file__).parent
PROJECT = {
    "app.py": "def load_config(path):\n    return 1\n\n\ndef save_config(path):\n    return 2\n",
    "notes.md": "# Plan\n\nRead the config.\n\n# Later\n\nWrite the config.\n",
}
# Runs one command under a profiler and reports it on the last line of stderr.
DRIVER = """
import json, sys, threading
files, functions, crossings, root = set(), set(), [0], sys.argv.pop(1)
def look(frame, event, _):
    code, caller = frame.f_code, frame.f_back
    is_function = code.co_flags & 1  # CO_OPTIMIZED: not the body of a module or a class
    if event != "call" or not is_function or not code.co_filename.startswith(root):
        return
    files.add(code.co_filename)
    functions.add((code.co_filename, code.co_qualname))
    crossings[0] += caller is not None and caller.f_code.co_filename != code.co_filename
from aurora.cli.main import main
sys.setprofile(look)
threading.setprofile(look)
try:
    main()
except SystemExit:
    pass
finally:
    sys.setprofile(None)
    modules = sum(name == "aurora" or name.startswith("aurora.") for name in sys.modules)
    counts = [modules, len(files), len(functions), crossings[0]]
    print("\\n" + json.dumps(counts), file=sys.stderr)
"""


def main() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(SOURCE.rglob("*.py"))}
    lines = [text.count("\n") for text in texts.values()]
    rows: list[tuple[str, object]] = [
        ("files in `src/aurora`", len(texts)),
        ("lines in `src/aurora`", f"{sum(lines):,}"),
        ("lines of a file, median", f"{median(lines):.0f}"),
        ("imports inside functions, of our own modules", sum(map(inner_imports, texts.values()))),
        ("classes above a concrete store", max(map(len, stores()))),
        ("file names used in several packages", ", ".join(shared_names(texts)) or "none"),
    ]
    for command, counts in (("index", run("index")), ("search", run("search"))):
        modules, files, functions, crossings = counts
        rows += [
            (f"own modules that `aur mem {command}` imports", modules),
            (f"files that `aur mem {command}` runs through", files),
            (f"functions that `aur mem {command}` calls", functions),
            (f"calls from file to file in `aur mem {command}`", crossings),
        ]
    print("| | now |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")


def inner_imports(text: str) -> int:
    """Imports of `aurora` modules that are not at the top level of the file."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
    return sum(
        bool(node.col_offset) and not is_typing(node, text) for node in nodes if is_ours(node)
    )


def is_ours(node: ast.ImportFrom) -> bool:
    return node.module is not None and node.module.split(".")[0] == "aurora"


def is_typing(node: ast.ImportFrom, text: str) -> bool:
    """Whether the import stands in a block `if TYPE_CHECKING:`."""
    above = text.split("\n")[: node.lineno - 1]
    heads = [line for line in above if line and not line.startswith((" ", ")"))]
    return bool(heads) and heads[-1].startswith("if TYPE_CHECKING")


def stores() -> Iterator[list[type]]:
    """For each concrete store the classes that it inherits from."""
    from aurora.stores.postgres.store import PostgresStore  # noqa: PLC0415
    from aurora.stores.sqlite.store import SQLiteStore  # noqa: PLC0415

    for store in (SQLiteStore, PostgresStore):
        yield [above for above in store.__mro__[1:] if above.__module__.startswith("aurora")]


def shared_names(texts: dict[Path, str]) -> list[str]:
    """Names of files in more than one package, less the same parts of the two stores."""
    twins = ("stores/sqlite", "stores/postgres")
    counted = Counter(
        file.stem
        for file in texts
        if file.stem != "__init__" and file.parent.relative_to(SOURCE).as_posix() != twins[1]
    )
    return sorted(name for name, count in counted.items() if count > 1)


def run(command: str) -> list[int]:
    """Modules, files, functions and crossings of one `aur mem` command."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "project")
        place.mkdir()
        for name, text in PROJECT.items():
            (place / name).write_text(text, encoding="utf-8")
        environ = {**os.environ, "AURORA_HOME": str(Path(folder, "home")), "HOME": folder}
        counts = drive(["index", "."], place, environ)
        return drive(["search", "config"], place, environ) if command == "search" else counts


def drive(arguments: list[str], place: Path, environ: dict[str, str]) -> list[int]:
    program = [sys.executable, "-c", DRIVER, str(SOURCE), "mem", *arguments]
    ended = subprocess.run(
        program, cwd=place, env=environ, capture_output=True, text=True, check=True
    )
    counts: list[int] = json.loads(ended.stderr.strip().split("\n")[-1])
    return counts


if __name__ == "__main__":
    main()
