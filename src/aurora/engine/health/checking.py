"""How a table of checks is carried out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from aurora.errors import AuroraError
from aurora.types import Finding, Level

logger = logging.getLogger(__name__)

Subject = TypeVar("Subject")
Check: TypeAlias = Callable[[Subject], Iterable[Finding]]


def carry_out(
    checks: Iterable[Check[Subject]], subject: Subject, *, area: str
) -> Iterator[Finding]:
    """The findings of all checks; one that cannot be carried out has failed."""
    for check in checks:
        try:
            yield from check(subject)
        except AuroraError as exc:
            yield Finding(Level.FAIL, area, exc.message, exc.hint)
        except Exception as exc:  # whatever is broken, the other checks are worth having
            logger.exception("%s", check.__name__)
            name = check.__name__.strip("_").replace("_", " ")
            yield Finding(Level.FAIL, area, f"{name} could not be checked: {exc!r}")
