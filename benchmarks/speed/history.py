"""How long the git history of every file takes, beside git's own commands, and how right it is.

    python benchmarks/speed/history.py --repo PATH [--suffix .py] [--sample 100]

All runs happen in a clone that borrows the repository's objects, so nothing of it is written to.
`git blame` is run on a sample of the files and taken as the truth: a chunk agrees when it has the
same number of commits and the same last modification. CPU seconds are ours and git's together.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora.parsers.registry import parser_for
from aurora.sources.blame.history import FileHistory, History, blame
from aurora.sources.blame.replay import LineHistory
from aurora.sources.git import Git, list_files
from aurora.types import ChunkHistory, Document, Lines


@dataclass(frozen=True, slots=True)
class Cost:
    """What one piece of work took."""

    name: str
    files: int
    wall: float
    cpu: float

    def row(self, blame_file: float) -> str:
        rate = self.files / self.wall
        times = blame_file * self.files / self.cpu
        return f"{self.name:34}{self.wall:9.2f}{self.cpu:9.2f}{rate:11,.0f}{times:11.1f}x"


def measure(name: str, files: int, work: Callable[[], object]) -> Cost:
    start, before = time.perf_counter(), sum(os.times()[:4])
    work()
    wall, cpu = time.perf_counter() - start, sum(os.times()[:4]) - before
    return Cost(name, files, wall, max(cpu, 0.001))  # CPU time has coarse steps: never divide by 0


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def chunk_lines(root: Path, path: str) -> list[Lines]:
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    chunks = parser_for(path).parse(Document(path, text)).chunks
    return [chunk.lines for chunk in chunks if chunk.lines is not None]


def blamed(root: Path, path: str) -> Callable[[Lines], ChunkHistory]:
    owners, times = blame(Git(root), path, commit="HEAD")

    def touching(lines: Lines) -> ChunkHistory:
        commits = set(owners[lines.start - 1 : lines.end])
        return ChunkHistory(commits=tuple(sorted(times[commit] for commit in commits)))

    return touching


def agreement(
    root: Path,
    ours: Mapping[str, FileHistory],
    theirs: Mapping[str, Callable[[Lines], ChunkHistory]],
) -> tuple[int, int, int]:
    """Chunks compared, those with an equal count, those with an equal date."""
    chunks = commits = dates = 0
    for path, touching in theirs.items():
        history = ours[path]
        assert isinstance(history, LineHistory), f"{path}: {history}"
        for lines in chunk_lines(root, path):
            mine, truth = history.touching(lines), touching(lines)
            chunks += 1
            commits += mine.commits == truth.commits
            dates += mine.last_modified == truth.last_modified
    return chunks, commits, dates


def run(root: Path, cache: Path, paths: Sequence[str], sample: Sequence[str]) -> None:
    history = History(root, cache=cache)
    costs = [measure("cold", len(paths), lambda: history.of(paths))]
    ours = history.of(paths)
    costs.append(measure("unchanged", len(paths), lambda: history.of(paths)))
    truth: dict[str, Callable[[Lines], ChunkHistory]] = {}
    costs.append(
        measure("git blame, a file at a time", len(sample),
                lambda: truth.update({path: blamed(root, path) for path in sample}))
    )  # fmt: skip
    log = ("log", "--name-status", "--no-renames", "--format=%H %at")
    costs.append(measure("git log --name-status", len(paths), lambda: git(root, *log)))
    edited = root / sample[0]
    edited.write_bytes(b"\n" + edited.read_bytes())
    costs.append(measure("one file edited", 1, lambda: history.of(sample[:1])))
    git(root, "commit", "--quiet", "--all", "--message", "one line")
    costs.append(measure("one commit added, one file", 1, lambda: history.of(sample[:1])))
    costs.append(measure("one file, nothing remembered", 1,
                         lambda: History(root, cache=None).of(sample[:1])))  # fmt: skip
    edited.write_bytes(edited.read_bytes()[1:])
    report(costs, agreement(root, ours, truth))


def report(costs: Sequence[Cost], agreed: tuple[int, int, int]) -> None:
    by_name = {cost.name: cost for cost in costs}
    one = by_name["git blame, a file at a time"]
    print(f"{'':34}{'wall s':>9}{'CPU s':>9}{'files/s':>11}{'to blame':>12}")
    for cost in costs:
        print(cost.row(one.cpu / one.files))
    ratio = by_name["cold"].cpu / by_name["git log --name-status"].cpu
    print(f"cold is {ratio:.1f} times the CPU of git log --name-status")
    chunks, commits, dates = agreed
    print(
        f"{chunks:,} chunks of {one.files} files: {commits / chunks:.2%} have git blame's commits, "
        f"{dates / chunks:.2%} its date"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repo", type=Path, required=True)
    options.add_argument("--suffix", action="append", default=[])
    options.add_argument("--sample", type=int, default=100)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "clone")
        git(given.repo, "clone", "--quiet", "--shared", ".", str(root))
        suffixes = tuple(given.suffix or [".py"])
        paths = [path for path in list_files(root) or () if path.endswith(suffixes)]
        written = [path for path in paths if (root / path).stat().st_size]
        sample = random.Random(0).sample(written, min(given.sample, len(written)))  # noqa: S311
        print(f"{given.repo.name}: {len(paths):,} files")
        run(root, Path(folder, "history"), paths, sample)


if __name__ == "__main__":
    main()
