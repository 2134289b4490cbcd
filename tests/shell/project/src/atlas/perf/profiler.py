"""Where the time goes."""

import cProfile
import pstats
import time
from contextlib import contextmanager


@contextmanager
def timed(name, report):
    """Measure a block and report its performance."""
    started = time.perf_counter()
    try:
        yield
    finally:
        report(name, time.perf_counter() - started)


def profile_call(call, top=20):
    """The slowest functions of a call: look here before any optimization."""
    profiler = cProfile.Profile()
    profiler.runcall(call)
    return pstats.Stats(profiler).sort_stats("cumulative").print_stats(top)
