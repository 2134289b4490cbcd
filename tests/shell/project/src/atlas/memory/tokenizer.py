"""Words of code and prose."""

import re

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def split_identifier(word):
    """Parts at humps and underscores: parse_HTMLPage gives parse, html, page."""
    return [part.lower() for part in _HUMP.findall(word)]


def tokenize(text):
    """Identifiers whole and in parts, in the order of the text."""
    tokens = []
    for word in _WORD.findall(text):
        parts = split_identifier(word)
        tokens += [word.lower(), *parts] if len(parts) > 1 else parts
    return tokens
