"""How long `aur mem index` takes on a repository with its full history, beside git itself.

    python benchmarks/speed/indexing.py --repo PATH [--rounds 1] [--sample 40] [--goals]

Everything happens in a clone and with a home of its own, in a temporary folder; the `aur` is the
one beside this Python. Phases, one after the other: nothing indexed yet, until everything can be
found by words and quick vectors (`aur mem index --quick`); the better vectors (`aur mem improve`,
which `aur mem index --no-wait` starts in the background); nothing changed; one file changed on
disk; that change committed; the folder `indexes/` deleted. All vectors are there after the first
two together. Files and chunks a second are those of the whole repository in every phase. With
rounds, each with a new home, each phase's quickest one counts.

The gits that `aur` starts are processes of their own, so memory has three numbers: the largest
single process, `aur` alone, and all together at one moment; `cost.py` says how they are measured.

Reading all tracked files with `cat` is measured, best of three. `git blame` is measured on a sample
spread over the tracked text files, and multiplied up to all of them: both numbers are told, and
marked. Ratios are of wall seconds. Parsing alone is one process that parses every file once;
reading does not count.
A complete run writes benchmarks/results/indexing-<name>-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cost import Cost, measure

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

AUR = Path(sys.executable).with_name("aur")
WORD = "added_by_the_benchmark"
AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
# Wall seconds with git metadata, on two cores, until all can be found, and until all vectors exist.
COLD_LIMITS = {"django": (45.0, 100.0), "flask": (2.5, 5.0)}
MOST_MB = 450  # of one process, up to 50,000 chunks


@dataclass(frozen=True, slots=True)
class Phase:
    """One run of `aur mem index`, and what the memory held then."""

    name: str
    cost: Cost
    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Time:
    """Wall and CPU seconds of this script's children."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Baselines:
    """What cat and git take for the same files."""

    reading: Time
    text_files: int
    blamed_files: int
    blaming: Time  # the sample: measured
    blaming_all: Time  # all text files: extrapolated


@dataclass(frozen=True, slots=True)
class Parsing:
    """One process, CPU seconds of the parser alone."""

    files: int
    chunks: int
    cpu_s: float


def git(folder: Path, *words: str | Path) -> str:
    """What git prints; names of files may have any letters."""
    done = subprocess.run(["git", *AUTHOR, *words], cwd=folder, check=True, stdout=subprocess.PIPE)
    return os.fsdecode(done.stdout).strip("\n")


def text_files(clone: Path) -> list[str]:
    """The tracked files that are neither empty nor binary, in git's eyes."""
    return git(clone, "grep", "-I", "-z", "--name-only", "-e", "").strip("\0").split("\0")


def middle_file(names: Sequence[str]) -> str:
    """Of names in the order of size: the Python file in the middle; without Python, any."""
    chosen = [name for name in names if name.endswith(".py")] or list(names)
    return chosen[len(chosen) // 2]


def change(clone: Path, name: str) -> None:
    line = f"\n\ndef {WORD}():\n    return 1\n" if name.endswith(".py") else f"\n{WORD}\n"
    with (clone / name).open("a", encoding="utf-8") as file:
        file.write(line)


class Indexing:
    """A clone with a home of its own, indexed again and again."""

    def __init__(self, clone: Path, home: Path) -> None:
        home.mkdir()
        self.clone, self.home = clone, home
        own = {"HOME": str(home), "AURORA_HOME": str(home / "aurora"), "TMPDIR": str(home)}
        self._env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **own}
        measure([AUR, "mem", "index", "--help"], clone, self._env)  # it starts; bytecode is there

    def index(self, name: str, *options: str) -> Phase:
        cost, text = measure([AUR, "mem", "index", ".", *options], self.clone, self._env)
        files, chunks = (
            int(re.findall(rf"{words}: (\d+)", text)[0])
            for words in ("Files scanned", "Total chunks")
        )
        print(f"{name}: {cost.wall_s:.2f} s", file=sys.stderr)
        return Phase(name, cost, files, chunks)

    def improve(self, name: str, first: Phase) -> Phase:
        cost, text = measure([AUR, "mem", "improve"], self.clone, self._env)
        print(f"{name}: {cost.wall_s:.2f} s, {text.splitlines()[-1]}", file=sys.stderr)
        return replace(first, name=name, cost=cost)

    def require(self, name: str) -> None:
        """A run that did not notice the change would be quick, and worth nothing."""
        _, text = measure([AUR, "mem", "search", WORD], self.clone, self._env)
        if name not in text:
            raise SystemExit(f"the change of {name} cannot be found:\n{text}")

    def forget(self, head: str) -> None:
        """As if nothing had been indexed or changed."""
        git(self.clone, "reset", "--quiet", "--hard", head)
        shutil.rmtree(self.clone / ".aurora")
        shutil.rmtree(self.home)  # with the caches of histories and vectors
        self.home.mkdir()


def index_in_phases(indexing: Indexing, name: str) -> Iterator[Phase]:
    first = indexing.index("everything can be found", "--quick")
    yield first
    yield indexing.improve("better vectors", first)
    yield indexing.index("unchanged")
    change(indexing.clone, name)
    yield indexing.index("one file changed")
    indexing.require(name)
    git(indexing.clone, "commit", "--quiet", "--message", "One function", "--", name)
    yield indexing.index("one commit made")
    shutil.rmtree(indexing.clone / ".aurora" / "indexes")
    yield indexing.index("indexes/ deleted")


def best_phases(indexing: Indexing, name: str, rounds: int) -> list[Phase]:
    """Every phase from its quickest round: the least disturbed one on a shared machine."""
    head = git(indexing.clone, "rev-parse", "HEAD")
    every: list[list[Phase]] = []
    for _ in range(rounds):
        every.append(list(index_in_phases(indexing, name)))
        indexing.forget(head)
    return [min(same, key=lambda phase: phase.cost.wall_s) for same in zip(*every, strict=True)]


def timed(work: Callable[[], object]) -> Time:
    start, before = time.perf_counter(), os.times()
    work()
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system
    return Time(round(wall, 4), round(cpu - before.children_user - before.children_system, 4))


def read_everything(clone: Path) -> None:
    # A link to nowhere or a submodule cannot be read: xargs says so, and the rest is read.
    command = "git ls-files -z | xargs -0 cat > /dev/null 2>&1"
    subprocess.run(command, shell=True, cwd=clone, check=False)  # noqa: S602 - a constant


def measure_baselines(clone: Path, texts: Sequence[str], wanted: int) -> Baselines:
    reading = min((timed(lambda: read_everything(clone)) for _ in range(3)), key=wall_seconds)
    count = min(wanted, len(texts))
    sample = [texts[place * len(texts) // count] for place in range(count)]
    print(f"git blame of {count} files", file=sys.stderr)
    blaming = timed(lambda: [git(clone, "blame", "--porcelain", "HEAD", "--", t) for t in sample])
    times = len(texts) / count
    everything = Time(round(blaming.wall_s * times, 4), round(blaming.cpu_s * times, 4))
    return Baselines(reading, len(texts), count, blaming, everything)


def wall_seconds(time: Time) -> float:
    return time.wall_s


def parse_files(root: Path) -> tuple[Parsing, list[str]]:
    """Parse every file that an index would read; names them, the smallest first."""
    from aurora.parsers.registry import parser_for  # noqa: PLC0415
    from aurora.sources.walk import SourceFile, read_text, walk_files  # noqa: PLC0415
    from aurora.types import Document  # noqa: PLC0415

    sizes: dict[str, int] = {}
    chunks, seconds = 0, 0.0
    for file in walk_files(root):
        text = read_text(file.path) if isinstance(file, SourceFile) else None
        if isinstance(text, str):
            document = Document(file.path.relative_to(root).as_posix(), text)
            start = time.process_time()
            chunks += len(parser_for(document.path).parse(document).chunks)
            seconds += time.process_time() - start
            sizes[document.path] = len(text)
    return Parsing(len(sizes), chunks, round(seconds, 6)), sorted(sizes, key=sizes.__getitem__)


def measure_parsing(clone: Path) -> tuple[Parsing, list[str]]:
    """In a process of its own: what this one has ever held, its children seem to hold, too."""
    command = [sys.executable, str(Path(__file__).resolve()), "--parse", str(clone)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    parsing, names = json.loads(done.stdout)
    return Parsing(**parsing), names


def report(phases: Sequence[Phase], baselines: Baselines, parsing: Parsing) -> None:
    heads = ("wall s", "CPU s", "files/s", "chunks/s", "largest MB", "aur MB", "together MB")
    print(f"{'':36}" + "".join(f"{head:>12}" for head in (*heads, "to reading", "to blaming")))
    for phase in phases:
        print(f"{phase.name:<36}" + "".join(f"{cell:>12}" for cell in cells(phase, baselines)))
    for name, took in [
        ("git ls-files | xargs cat", baselines.reading),
        (f"git blame, {baselines.blamed_files:,} files: measured", baselines.blaming),
        (f"git blame, {baselines.text_files:,} files: extrapolated", baselines.blaming_all),
    ]:
        print(f"{name:<36}{took.wall_s:>12.2f}{took.cpu_s:>12.2f}")
    rate = parsing.chunks / parsing.cpu_s
    print(f"{'parsing alone':<36}{'':>12}{parsing.cpu_s:>12.2f}{'':>12}{rate:>12,.0f}")


def cells(phase: Phase, baselines: Baselines) -> list[str]:
    cost = phase.cost
    sizes = (cost.largest_mb, cost.own_mb, cost.together_mb)
    return [
        f"{cost.wall_s:.2f}",
        f"{cost.cpu_s:.2f}",
        f"{phase.files / cost.wall_s:,.0f}",
        f"{phase.chunks / cost.wall_s:,.0f}",
        *("-" if size is None else f"{size:.0f}" for size in sizes),
        f"{cost.wall_s / baselines.reading.wall_s:.1f}x",
        f"{cost.wall_s / baselines.blaming_all.wall_s:.4f}x",
    ]


def report_goals(name: str, phases: Sequence[Phase], parsing: Parsing) -> None:
    """Each goal beside its number. Memory may grow with the chunks beyond 50,000."""
    cold, better, again, changed = phases[:4]
    most = max(phase.cost.own_mb or phase.cost.largest_mb for phase in phases)
    goals = [
        ("unchanged, wall s", again.cost.wall_s, 1 + 0.0001 * again.files),
        ("one file changed, wall s", changed.cost.wall_s, 1.5),
        ("memory of aur, MB", most, MOST_MB * max(1.0, cold.chunks / 50_000)),
        ("parsing, CPU µs a chunk", 1e6 * parsing.cpu_s / parsing.chunks, 1e6 / 5_000),
    ]
    if name in COLD_LIMITS:
        found, vectors = COLD_LIMITS[name]
        all_vectors = cold.cost.wall_s + better.cost.wall_s
        goals = [
            ("until all is found, wall s", cold.cost.wall_s, found),
            ("until all vectors, wall s", all_vectors, vectors),
            *goals,
        ]
    for what, number, limit in goals:
        verdict = "yes" if number < limit else "NO"
        print(f"{what:<30}{number:>9.2f} < {limit:<9.2f}{verdict}")


def run(repo: Path, name: str, *, sample: int, rounds: int, goals: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone").resolve()
        git(repo, "clone", "--quiet", "--local", ".", clone)
        head = git(clone, "rev-parse", "--short=12", "HEAD")
        commits = int(git(clone, "rev-list", "--count", "HEAD"))
        texts = text_files(clone)
        print(f"{name} at {head}: {commits:,} commits, {len(texts):,} text files")
        parsing, names = measure_parsing(clone)
        baselines = measure_baselines(clone, texts, sample)
        indexing = Indexing(clone, Path(folder, "home"))
        phases = best_phases(indexing, middle_file(names), rounds)
    report(phases, baselines, parsing)
    if goals:
        report_goals(name, phases, parsing)
    repository = {"name": name, "head": head, "commits": commits}
    measured = {"baselines": asdict(baselines), "parsing": asdict(parsing), "rounds": rounds}
    phases_ = {"git": git(Path(), "--version"), "phases": list(map(asdict, phases))}
    record.save(f"indexing-{name}", {"repository": repository, **phases_, **measured})


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--repo", type=Path, help="any git repository; it is only cloned")
    options.add_argument("--name", help="what to call it (default: the name of its folder)")
    options.add_argument("--sample", type=int, default=40, help="files to blame")
    options.add_argument("--rounds", type=int, default=1, help="all phases, again and again")
    options.add_argument("--goals", action="store_true", help="print the goals beside the numbers")
    options.add_argument("--parse", type=Path, help="only parse a folder's files; prints JSON")
    given = options.parse_args()
    if given.parse:
        parsing, names = parse_files(given.parse.resolve())
        print(json.dumps([asdict(parsing), names]))
    elif given.repo:
        name = given.name or given.repo.resolve().name.removesuffix(".git")
        run(given.repo, name, sample=given.sample, rounds=given.rounds, goals=given.goals)
    else:
        options.error("name a repository with --repo")


if __name__ == "__main__":
    main()
