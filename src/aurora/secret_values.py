"""Whether a value may be a secret: it looks like chance, and is no word, name or placeholder."""

from __future__ import annotations

import math
import re
from collections import Counter

MARK = "[redacted:"
_LEAST_BITS = 2.75  # of chance in each sign: English words have fewer
_SHORT = 12  # characters: below, chance cannot be measured
_LETTERS = re.compile(r"[A-Za-z]{16,}={0,2}")  # as many need no digit
_LEAST_SIGNS = 6  # that differ, in a short one
_PLACEHOLDER = re.compile(
    "password|passwd|pass|pwd|secret|token|credential|default|example|sample|changeme|change|dummy"
    "|value|admin|login|guest|hello|world|user|test|fake|demo|your|here|name|root|none|null|true"
    "|false|text|data|auth|hmac|sha|aes|rsa|api|key|new|old|the|foo|bar|baz|abc|my|id|x|s(?![a-z])"
)
# Names of something else, which a program puts in their place.
_REFERENCE = re.compile(
    r"\$[{(]|\{[{%]|%[(s]|://|^\$(?:[A-Za-z_]+|[A-Z0-9_]+)$|^[A-Z]+(?:_[A-Z]+)+$"
    r"|^[\w.$]+\[[\d:-]+\]$|^[.~]?/[\w.-]+/[\w./-]{0,20}$|^arn:|^ENC\["
)
# The hundred commonest pairs of letters in English words: random letters have few of them.
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_COMMON = (
    "ab ac ad ai al am an ar as at ba ca ce ch co ct da de di ea ec ed el em en er es et ex fi"
    " fo ge ha he ia ic id ie ig il im in io is it la ld le li ll lo ma me mi mo mp na nc nd ne"
    " ng ni no ns nt od ol om on or os ou pa pe pl po pr ra re ri ro rs rt se si ss st su ta te"
    " th ti to tr ts un ur us ut ve"
)
_PAIRS = frozenset(_COMMON.split(" "))


def looks_random(text: str) -> bool:
    """Has digits and letters, repeats little, and is no name, path or placeholder."""
    if not any(map(str.isalpha, text)):
        return False
    has_digit = any(map(str.isdigit, text))
    if len(text) < _SHORT:
        return has_digit and len(set(text)) >= _LEAST_SIGNS
    if not has_digit and not _LETTERS.fullmatch(text):
        return False
    counts = Counter(text).values()
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return bits >= _LEAST_BITS and not _is_worded(text)


def may_be_secret(text: str) -> bool:
    """False for what was redacted already, and for `$TOKEN`, `your-api-key`, `password1`, `xx`."""
    if MARK in text or _REFERENCE.search(text):
        return False
    rest = _PLACEHOLDER.sub("", text.lower())
    return any(map(str.isalnum if len(rest) == len(text) else str.isalpha, rest))


def _is_worded(text: str) -> bool:
    """Mostly made of words, as `test-token-number-1` and a path of modules are."""
    words = (word for word in _WORD.findall(text) if _is_readable(word.lower()))
    return sum(map(len, words)) > len(text) / 2


def _is_readable(word: str) -> bool:
    pairs = [word[at : at + 2] in _PAIRS for at in range(len(word) - 1)]
    return sum(pairs) >= len(pairs) / 3
