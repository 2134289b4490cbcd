"""The entry point of `aur` and of `python -m aurora`. It catches Ctrl-C during the imports, too.

Agents wait for `aur hook`, so it goes past the command line, which takes longer to import.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module

_INTERRUPTED = 130  # the status that shells expect after Ctrl-C
_HELP = frozenset(("-h", "--help"))
_GC_THRESHOLD = 50_000  # objects: a start creates fewer, and they live until the end


def main() -> None:
    gc.set_threshold(_GC_THRESHOLD)
    try:
        if sys.argv[1:2] == ["hook"] and not _HELP.intersection(sys.argv):
            import_module("aurora.hooks.client").main(sys.argv[2:])
        from aurora.cli.main import main as run  # noqa: PLC0415 - an interrupt here is caught

        run()
    except KeyboardInterrupt:
        if sys.stderr is not None:  # a stream that was closed is None
            sys.stderr.write("Interrupted.\n")
        sys.exit(_INTERRUPTED)
    finally:
        gc.freeze()  # the process ends: skip the last collection


if __name__ == "__main__":
    main()
