"""Ids of what has no file: a word, a few of its own words for people, and a digest."""

from __future__ import annotations

import hashlib
import re

_SLUG = 40  # characters: enough to know it by


def make_id(word: str, title: str, key: bytes, *, digits: int) -> str:
    """`doc-release-plan-1a2b3c4d`: the same key gives the same digest, a title may be empty."""
    slug = re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:_SLUG]
    digest = hashlib.sha256(key).hexdigest()[:digits]
    return "-".join(filter(None, [word, slug, digest]))
