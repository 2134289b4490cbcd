"""What it costs to index a branch, to switch to another one, and to switch back.

    python benchmarks/speed/branches.py [OLD NEW] [--files 20]

OLD and NEW are two folders with releases of a project, such as unpacked Django 5.1 and 5.2; without
them, small ones are made. A repository with a branch for each is indexed: first `old`, then `new`,
`old` and `new` again. Then a branch that changes only `--files` files of `old`, and back. Each step
is one `Memory.index` in a process of its own, with one home for all. Then a clone of `new` and a
worktree of the last branch are indexed, and a lookup in the cache is compared with both of the
bundled models.

CPU seconds are those of the process and of the gits that it starts. A run on OLD and NEW writes its
result.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from aurora.embeddings.aurora.provider import DEEP, SHALLOW, AuroraProvider
from aurora.embeddings.base import ProviderOptions
from aurora.indexing.embedding import ChunkText, cache_key, embedder_of, vectors_of
from aurora.stores.vector_cache import VectorCache

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record

AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
TEXTS = 200 if "AURORA_BENCHMARK_TINY" in os.environ else 2_000
INDEX = """
import json, resource, sys
from aurora import Memory
with Memory.open(sys.argv[1]) as memory:
    report = memory.index()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({
    "parsed": report.parsed,
    "removed": report.removed,
    "histories": report.histories,
    "embedded": report.embedded.made - report.embedded.cached,
    "cached": report.embedded.cached,
    "cpu_s": round(used[0].ru_utime + used[0].ru_stime, 2),
    "git_cpu_s": round(used[1].ru_utime + used[1].ru_stime, 2),
}))
"""


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *AUTHOR, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def make_releases(folder: Path) -> tuple[Path, Path]:
    for release in ("old", "new"):
        (folder / release).mkdir()
        for number in range(30):
            birds = "".join(
                f"def heron_{number}_{n}(water):\n    return water + {n}  # {release}\n\n\n"
                for n in range(3 if number % 3 else 5)
            )
            (folder / release / f"m{number}.py").write_text(birds, encoding="utf-8")
    return folder / "old", folder / "new"


def make_repository(repo: Path, old: Path, new: Path, files: int) -> None:
    """The branches `old`, `new`, and `few` with some of the files of `new`."""
    repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=old")
    for branch, release in (("old", old), ("new", new)):
        if branch == "new":
            git(repo, "checkout", "--quiet", "-b", "new")
            git(repo, "rm", "-r", "--quiet", ".")
        shutil.copytree(release, repo, dirs_exist_ok=True)
        git(repo, "add", "--all")
        git(repo, "commit", "--quiet", "--message", branch)
    changed = git(repo, "diff", "--name-only", "--diff-filter=M", "old", "new").splitlines()
    git(repo, "checkout", "--quiet", "-b", "few", "old")
    step = max(len(changed) // files, 1)
    git(repo, "checkout", "--quiet", "new", "--", *changed[::step][:files])
    git(repo, "commit", "--quiet", "--message", "few")


def index(repo: Path, home: Path, step: str) -> Mapping[str, float]:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", INDEX, repo],
        env={**os.environ, "AURORA_HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    )
    report = {**json.loads(done.stdout), "wall_s": round(time.perf_counter() - start, 1)}
    numbers = (f"{name} {number:g}" for name, number in report.items())
    print(f"{step:22}", *numbers, sep="  ", flush=True)
    return report


def lookups(folder: Path, texts: list[ChunkText]) -> dict[str, float]:
    """CPU microseconds for a text: by each model, and to look up and to keep a vector."""
    measured: dict[str, float] = {}
    vectors: list[bytes] = []
    provider = AuroraProvider(ProviderOptions(SHALLOW))
    for depth in (DEEP, SHALLOW):
        provider = AuroraProvider(ProviderOptions(depth))
        vectors_of(provider, texts[:2])  # loads the model
        some = texts if depth == SHALLOW else texts[: len(texts) // 4]
        start = time.process_time()
        vectors = []
        for at in range(0, len(some), provider.batch_size):
            vectors += vectors_of(provider, some[at : at + provider.batch_size])
        measured[f"aurora/{depth}"] = (time.process_time() - start) / len(some)
    with VectorCache(folder).open(embedder_of(provider)) as cached:
        keys = [cache_key(text) for text in texts]
        start = time.process_time()
        cached.put((key, 1, vector) for key, vector in zip(keys, vectors, strict=True))
        measured["keep"] = (time.process_time() - start) / len(texts)
        start = time.process_time()
        cached.get([cache_key(text) for text in texts])
        measured["look up"] = (time.process_time() - start) / len(texts)
    rounded = {name: round(1e6 * seconds, 1) for name, seconds in measured.items()}
    print("microseconds of CPU for a text:", *(f"{n} {t:g}" for n, t in rounded.items()), sep="  ")
    return rounded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", type=Path, nargs="*")
    parser.add_argument("--files", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        old, new = given.releases or make_releases(folder)
        repo, home, clone = folder / "repo", folder / "home", folder / "clone"
        make_repository(repo, old, new, given.files)
        steps = {}
        for step, branch in (
            ("old, first", "old"), ("new, first", "new"),
            ("back to old", "old"), ("back to new", "new"), ("old, again", "old"),
            ("few files, first", "few"), ("back from few files", "old"),
            ("few files, again", "few"),
        ):  # fmt: skip
            git(repo, "checkout", "--quiet", branch)
            steps[step] = index(repo, home, step)
        git(folder, "clone", "--quiet", "--branch", "new", str(repo), str(clone))
        steps["a clone of new"] = index(clone, home, "a clone of new")
        git(repo, "worktree", "add", "--quiet", "-b", "side", str(folder / "side"), "few")
        steps["a worktree"] = index(folder / "side", home, "a worktree")
        files = sorted(repo.rglob("*.py"))
        lines = [line for file in files for line in file.read_text("utf-8", "replace").split("\n")]
        pieces = ["\n".join(lines[at : at + 25]) for at in range(0, len(lines), 25)]
        texts = [ChunkText(piece, "heron") for piece in pieces[:: max(len(pieces) // TEXTS, 1)]]
        measured = {"steps": steps, "microseconds": lookups(folder / "vectors", texts[:TEXTS])}
    if given.releases:
        names = [release.name for release in given.releases]
        record.save("branches", {"releases": names, **measured})


if __name__ == "__main__":
    main()
