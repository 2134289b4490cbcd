"""`python -m tests.fuzz --seconds 60 [target…]`: search for inputs that show faults.

Every target gets its share of the time, in a process of its own. What the search has learned is in
`.fuzz/` and is used again; an input that failed is in `tests/fuzz/corpus/`, where the usual tests
replay it, and is best renamed for what it shows. Ends with 1 if there is one. `growth` is no target
of atheris: it measures where time grows faster than the text.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.corpus import FOLDER, kept
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
GROWTH = "growth"
_IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # most targets write files  # noqa: S108


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="for all targets together")
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join((*TARGETS, GROWTH)))
    asked = parser.parse_args()
    targets = asked.targets or [*TARGETS, GROWTH]
    if unknown := set(targets) - {*TARGETS, GROWTH}:
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    share = max(asked.seconds // len(targets), 1)
    found = [path for target in targets if target != GROWTH for path in fuzz(target, share)]
    for path in found:
        print(f"{path.relative_to(ROOT)}: pytest tests/fuzz/test_corpus.py -k {path.name}")  # noqa: T201
    words = [sys.executable, "-m", "tests.fuzz.growth", str(share)]
    grown = GROWTH in targets and subprocess.call(words, cwd=ROOT)
    return 1 if found or grown else 0


def fuzz(target: str, seconds: int) -> list[Path]:
    """The inputs that were not kept before; among them the one that ended the process, if any."""
    print(f"{target}: {seconds} s", flush=True)  # noqa: T201
    before = set(kept(target))
    home = ROOT / ".fuzz" / target
    (home / "inputs").mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "tests.fuzz.one", target, str(seconds), str(home / "inputs")]
    with TemporaryDirectory(dir=_IN_MEMORY) as scratch, (home / "log").open("ab") as log:
        environment = {**os.environ, "TMPDIR": scratch}
        status = subprocess.call(words, cwd=ROOT, env=environment, stdout=log, stderr=log)
    endings = [_keep(target, path) for path in home.glob("ended-*")]
    if status and not endings:
        raise SystemExit(f"{target} could not be run: {home / 'log'} says why")
    return sorted(set(kept(target)) - before)


def _keep(target: str, ended: Path) -> Path:
    """An input that took too long or too much memory. Nothing more is found before it is mended or
    taken away again: every run begins with what is kept."""
    content = ended.read_bytes()
    way = ended.name.removeprefix("ended-").partition("-")[0]  # timeout, oom, crash
    path = FOLDER / target / f"found-{way}-{hashlib.sha256(content).hexdigest()[:8]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    ended.replace(path)
    return path


if __name__ == "__main__":
    sys.exit(main())
