"""What it costs that a search looks for changed files first.

    python benchmarks/speed/freshness.py --repo=PATH/TO/django [--rounds 20]

The files of a git repository are copied and indexed by words. `aur mem search --mode keyword` is
started with and without `index.auto`, in turns, while nothing changes; times are the medians of
wall milliseconds of the process. `look` is the comparison of all files and folders alone. Then
three files change, and one search must have all three in its answer. A run with 20 rounds writes
its result.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from aurora import Memory, Places
from aurora.sources.looks import Looks, is_same

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record

WHOLE_RUN = 20  # rounds
MOST_MS = 150.0  # more than a search without the look
QUESTION = "session cookie age"
CHANGED = 3
AUR = Path(sys.executable).with_name("aur")


def run(words: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> tuple[float, str]:
    """Wall milliseconds and the output of a command."""
    start = time.perf_counter()
    done = subprocess.run(
        [AUR, *words], cwd=folder, env=environ, check=True, capture_output=True, text=True
    )
    return 1000 * (time.perf_counter() - start), done.stdout


def copy(repo: Path, folder: Path) -> Path:
    """The tracked files of a repository in a repository of their own."""
    target = folder / "copy"
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=repo, text=True).split("\0")
    for name in filter(None, names):
        if (repo / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repo / name, target / name)
    subprocess.run(["git", "init", "-q", target], check=True)
    subprocess.run(["git", "add", "-A"], cwd=target, check=True)
    return target


def look(folder: Path, home: Path) -> tuple[float, int]:
    """Milliseconds of the comparison, and how many files and folders it compares."""
    with Memory(Places(home, folder)) as memory:
        store = memory.admin.store
        kept = Looks(folder / ".aurora" / "indexes")
        start = time.perf_counter()
        looks = kept.read(store.identity)
        same = all(is_same(Path(place), look) for place, look in looks.items())
        taken = 1000 * (time.perf_counter() - start)
    if not same:
        raise SystemExit("files changed during the run")
    return taken, sum(map(len, looks.values()))


def change_three(folder: Path, environ: Mapping[str, str]) -> tuple[float, int]:
    """Milliseconds of a search after three changes, and how many of them are in its answer."""
    sources = sorted(folder.rglob("*.py"))[:CHANGED]
    for n, file in enumerate(sources):
        with file.open("a", encoding="utf-8") as out:
            out.write(f"\n\ndef zanzibar_{n}(quokka):\n    return quokka\n")
    words = ("mem", "search", "--mode", "keyword", "--json", "zanzibar quokka")
    taken, answer = run(words, folder, environ)
    names = {result["name"] for result in json.loads(answer)["results"]}
    return taken, sum(f"zanzibar_{n}" in names for n in range(len(sources)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=WHOLE_RUN)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        environ = {**os.environ, "AURORA_HOME": str(home), "AURORA_EMBEDDING_PROVIDER": "none"}
        folder = copy(given.repo, Path(scratch))
        run(("mem", "index", "--no-git"), folder, environ)
        asked = ("mem", "search", "--mode", "keyword", QUESTION)
        times: dict[str, list[float]] = {"true": [], "false": []}
        for round_ in range(given.rounds + 1):
            for auto, taken in times.items():
                milliseconds, _ = run(asked, folder, {**environ, "AURORA_INDEX_AUTO": auto})
                if round_:  # the first one writes the index of words
                    taken.append(milliseconds)
        compared, entries = look(folder, home)
        after_change, in_answer = change_three(folder, environ)
    medians = {auto: round(statistics.median(times[auto]), 1) for auto in times}
    more = round(medians["true"] - medians["false"], 1)
    print(f"{entries:,} files and folders, look: {compared:.1f} ms")
    print(f"with index.auto {medians['true']} ms, without {medians['false']} ms: {more} ms more")
    print(f"after {CHANGED} changes: {after_change:.1f} ms, {in_answer} of them in the answer")
    if in_answer != CHANGED:
        raise SystemExit("a changed file is not in the answer")
    if given.rounds >= WHOLE_RUN:
        measured = {"more": more, "most": MOST_MS, "look": round(compared, 1), **medians}
        measured |= {"after_change": round(after_change, 1), "entries": entries}
        record.save("freshness", {"repository": given.repo.name, "milliseconds": measured})


if __name__ == "__main__":
    main()
