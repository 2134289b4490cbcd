"""Whether two texts of one matter contradict each other, guessed from their words."""

from __future__ import annotations

import pytest

from aurora.indexing.similar import contradict


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Never retry uploads.", "Retry uploads three times."),
        ("Don't cache the price list.", "Cache the price list."),
        ("The price list is no longer cached.", "Cache the price list."),
        ("Pages are kept for 5 s.", "Pages are kept for 30 s."),
        ("Pages are kept for two minutes.", "Pages are kept for 30 seconds."),
        ("The client needs Python 3.11.", "The client runs on Python 3.9."),
        ("Indent templates with tabs.", "Indent templates with four spaces."),
        ("Sessions live in Postgres.", "Sessions live in Redis."),
        ("Leave dependencies unpinned.", "Dependencies are pinned."),
        ("Use Quux for the session cache.", "Use Frob for the session cache."),
    ],
)
def test_texts_that_contradict(new: str, old: str) -> None:
    assert contradict(new, old, 0.8)
    assert contradict(old, new, 0.8)
    assert not contradict(new, old, 0.5), "of another matter"


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Retry uploads three times.", "Uploads are retried three times."),
        ("Never retry uploads.", "Uploads are never retried."),
        ("Pages are kept for 60 s.", "Pages are kept for one minute."),
        ("Use Redis for sessions.", "Sessions live in Redis."),
        ("Uploads show a progress bar.", "Uploads are retried three times."),
    ],
)
def test_texts_that_agree(new: str, old: str) -> None:
    assert not contradict(new, old, 0.8)
    assert not contradict(old, new, 0.8)
