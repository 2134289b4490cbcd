"""One target under atheris, in a process of its own: `python -m tests.fuzz.one TARGET SECONDS DIR`.

The program is instrumented as it is imported, so it must not be imported before. A fault does not
end the run: the first input that shows it is shortened and kept, and the search goes on.
"""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

import atheris

from tests.fuzz.corpus import FOLDER, fault_in, fault_of, known_faults
from tests.fuzz.shrinking import shrunk
from tests.fuzz.targets import Check, load

_LONGEST = 4096  # bytes of an input
_PATIENCE = 20  # seconds for one input, after which libFuzzer ends the process
_MEMORY = 2048  # megabytes of the process, likewise


class Watch:
    """A check that tells of a fault once and never fails."""

    def __init__(self, target: str, check: Check) -> None:
        self._target, self._check = target, check
        self._known = known_faults(target, check)

    def __call__(self, data: bytes) -> None:
        try:
            self._check(data)
        except Exception as exc:  # whatever it is, it is a finding
            fault = fault_of(exc)
            if fault not in self._known:
                self._known.add(fault)
                self._keep(data, fault, traceback.format_exc())

    def _keep(self, data: bytes, fault: str, trace: str) -> None:
        short = shrunk(data, lambda part: fault_in(self._check, part) == fault)
        name = re.sub(r"[^\w.]+", "-", fault)  # until a person finds a better one
        (FOLDER / self._target).mkdir(parents=True, exist_ok=True)
        (FOLDER / self._target / name).write_bytes(short)
        print(f"\n{trace}\n{self._target}: {fault}\n  {short[:300]!r}", file=sys.stderr)  # noqa: T201
        print(f"  pytest tests/fuzz/test_corpus.py -k {name}\n", file=sys.stderr, flush=True)  # noqa: T201


def main(target: str, seconds: str, grown: str) -> None:
    with atheris.instrument_imports(include=["aurora"]):
        watch = Watch(target, load(target))
        arguments = [
            target, grown, *(str(path) for path in [FOLDER / target] if path.is_dir()),
            f"-max_total_time={seconds}", f"-max_len={_LONGEST}", f"-timeout={_PATIENCE}",
            f"-rss_limit_mb={_MEMORY}", f"-artifact_prefix={Path(grown).parent}/ended-",
            "-print_final_stats=1", "-verbosity=0",
        ]  # fmt: skip
        atheris.Setup(arguments, watch)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
