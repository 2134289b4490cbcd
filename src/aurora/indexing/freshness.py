"""Keeps a memory fresh: an index run now, and one after every burst of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from aurora.errors import AuroraError, SourceError
from aurora.indexing.indexer import IndexReport
from aurora.quick_classes import dataclass, replace
from aurora.types import Listener, Note


@dataclass(frozen=True, slots=True)
class Refresh:
    """One run. `changed` is false if the memory stayed as it was."""

    at: datetime
    seconds: float
    report: IndexReport
    changed: bool = True


def keep_fresh(
    index: Callable[[Sequence[Path]], IndexReport],
    targets: Sequence[Path],
    *,
    bursts: Iterable[object],
    now: Callable[[], datetime],
    listen: Listener,
) -> Iterator[Refresh]:
    """Run `index` now and after every burst. Only the first run raises; a later one warns."""

    def run(present: Sequence[Path]) -> Refresh:
        started = now()
        report = index(present)
        ended = now()
        return Refresh(ended, (ended - started).total_seconds(), report)

    last = run(targets)
    yield last
    there = list(targets)
    for _ in bursts:
        there = _find_present(targets, there, listen)
        try:
            refresh = run(there)
        except (AuroraError, OSError) as exc:
            text = exc.in_one_line if isinstance(exc, AuroraError) else str(exc)
            unchanged = "The memory is as it was; the next change tries again"
            listen(Note(f"{text}. {unchanged}", warning=True))
        else:
            yield replace(refresh, changed=_is_changed(refresh.report, last.report))
            last = refresh


def _is_changed(report: IndexReport, before: IndexReport) -> bool:
    return bool(
        report.parsed or report.removed or report.histories or report.skipped != before.skipped
    )


def _find_present(targets: Sequence[Path], before: Sequence[Path], listen: Listener) -> list[Path]:
    """The targets that exist. A note says which were removed or came back."""
    there = [target for target in targets if target.exists()]
    if targets and not there:
        raise SourceError(
            f"Nothing is left to watch: {targets[-1]} is gone",
            hint="name paths that are there: aur mem watch .",
        )
    for target in sorted(set(before) - set(there)):
        text = f"{target} is gone. Its chunks stay in the memory; the others are watched on"
        listen(Note(text, warning=True))
    for target in sorted(set(there) - set(before)):
        listen(Note(f"{target} is back"))
    return there
