"""Make the memories that upgrades are tested with. Run it before a migration is added:

    python -m tests.upgrades.make

writes the memory of today's schema to `memories/`, in a file, on a server, and exported. What is
there already is kept, for it was made by the program of its time; so after the migration the same
command makes only what is new. Those of older schemas were made with older code,

    git worktree add OLD COMMIT
    python -m tests.upgrades.make --code OLD/src [--suffix early]

with the last commit before the next schema, and a suffix where one number had several forms.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg

from tests.builders import write_tree
from tests.postgres.binaries import find_account
from tests.postgres.databases import Databases
from tests.postgres.server import PostgresServer
from tests.upgrades.memories import FOLDER
from tests.upgrades.project import DOCUMENT, LESSONS, LOG, build

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLACE = Path(tempfile.gettempdir()) / "aurora-upgrade"  # the same each time: a log's path is kept
SPLIT = 2


def make(code: Path, suffix: str) -> None:
    """All that this code can make."""
    shutil.rmtree(PLACE, ignore_errors=True)
    project, home = build(PLACE), PLACE / "home"
    write_tree(home / "logs" / "conversations", LOG)
    document, export = PLACE / "plan.md", PLACE / "export.jsonl"
    document.write_text(DOCUMENT, encoding="utf-8")
    run = runner(code, home)
    run("fill", str(project), str(document), *(word for lesson in LESSONS for word in lesson))
    keep(f"sqlite-{version_of(project)}{suffix}.db", memory_of(project).read_bytes())
    if export.exists():
        version = json.loads(export.read_bytes().splitlines()[0])["version"]
        keep(f"export-{version}{suffix}.jsonl", export.read_bytes())
    if (code / "aurora" / "stores" / "postgres").exists():
        make_on_server(run, export, suffix)
    shutil.rmtree(PLACE)


def make_on_server(run: Callable[..., None], export: Path, suffix: str) -> None:
    with PostgresServer() as server, closing(Databases(server)) as databases:
        for partitions, word in ((0, ""), (SPLIT, "-split")):
            with databases.fresh() as url:
                run("fill_server", url, str(export), str(partitions))
                with psycopg.connect(url) as connection:
                    asked = "SELECT value FROM aurora.facts WHERE name = 'schema'"
                    ((number,),) = connection.execute(asked).fetchall()
                keep(f"postgres-{number}{word}{suffix}.sql", dump(url, server.folder))


def dump(url: str, folder: Path) -> bytes:
    """As statements that any client can send; those only for psql are left out."""
    options = ("--schema=aurora", "--no-owner", "--rows-per-insert=500", f"--dbname={url}")
    lines = find_account().run("pg_dump", *options, folder=folder).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("\\")).encode()


def runner(code: Path, home: Path) -> Callable[..., None]:
    """Runs a script beside this one, in which `aurora` is the code that is asked for."""

    def run(script: str, *words: str) -> None:
        own = {"PYTHONPATH": str(code), "AURORA_HOME": str(home), "HOME": str(home.parent)}
        command = [sys.executable, str(HERE / f"{script}.py"), *words]
        subprocess.run(command, env=os.environ | own, check=True)

    return run


def memory_of(project: Path) -> Path:
    return project / ".aurora" / "memory.db"


def version_of(project: Path) -> int:
    """The schema's number; all that was written is in the one file afterwards."""
    with closing(sqlite3.connect(memory_of(project))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def keep(name: str, content: bytes) -> None:
    kept = FOLDER / f"{name}.gz"
    if kept.exists():
        sys.stdout.write(f"{kept.name} is there already: kept\n")
        return
    FOLDER.mkdir(exist_ok=True)
    kept.write_bytes(gzip.compress(content, mtime=0))
    sys.stdout.write(f"{kept.name}: {kept.stat().st_size} bytes\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--code", type=Path, default=ROOT / "src")
    parser.add_argument("--suffix", default="")
    asked = parser.parse_args()
    make(asked.code.absolute(), f"-{asked.suffix}" if asked.suffix else "")
