"""A process of several threads that share one `Memory`: each is a hand of its own.

It prints a line of JSON for every deed that ended, and at the end one for each hand: what it knows.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from aurora import Memory, Places
from tests.concurrency.doors import Engine
from tests.concurrency.hands import Hand
from tests.concurrency.watchdog import print_stacks_when_asked


def main(home: str, project: str, scratch: str, *, name: str, seed: int, seconds: float) -> None:
    print_stacks_when_asked()
    lock = threading.Lock()

    def tell(**facts: object) -> None:
        with lock:
            print(json.dumps(facts), flush=True)  # noqa: T201 - read by who started us

    with Memory(Places(Path(home), Path(project))) as memory:
        door = Engine(memory, Path(scratch))
        hands = [
            Hand(
                f"{name}{letter}",
                door,
                random.Random(f"{seed} {name}{letter}"),  # noqa: S311 - not for secrets
                lambda deed, outcome: tell(deed=deed, outcome=outcome),
            )
            for letter in "ab"
        ]
        until = time.monotonic() + seconds
        works = [
            threading.Thread(target=hand.work, args=(lambda: time.monotonic() > until,))
            for hand in hands
        ]
        for work in works:
            work.start()
        for work in works:
            work.join()
    for hand in hands:
        known = asdict(hand.known) | {"unsure": sorted(hand.known.unsure)}
        tell(known=known, counts=hand.counts, faults=hand.faults)


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    main(*told.pop("places"), **told)
