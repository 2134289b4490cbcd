"""Judges the licence of a package from its own words: permissive by name, or not used at all."""

import json
import re
from pathlib import Path

from training.sources.archives import read_named

PERMISSIVE = {
    "mit": r"\bmit\b|\bexpat\b|mit[- ]licen[sc]e|the mit",
    "mit-0": r"\bmit-0\b|mit no attribution",
    "bsd": r"\bbsd\b|bsd-?[0234]|\bbsd licen[sc]e|[234]-clause",
    "apache-2.0": r"apache",
    "isc": r"\bisc\b|\biscl\b",
    "psf": r"\bpsf\b|psf-2|python software foundation|python-2\.0",
    "zlib": r"\bzlib\b",
    "unlicense": r"\bunlicense\b",
    "0bsd": r"\b0bsd\b|zero-clause",
    "cc0": r"\bcc0",
    "hpnd": r"\bhpnd\b|historical permission",
    "zpl": r"\bzpl\b|zope public",
    "boost": r"\bbsl-1|boost software",
    "public domain": r"public[- ]domain",
    "wtfpl": r"\bwtfpl\b",
}
# One of these words anywhere and the package is left out, even where a choice is offered.
REFUSED = re.compile(
    r"gpl|gnu|\bmpl\b|mpl-|mozilla|\bepl\b|eclipse|cddl|eupl|cecill|\bsspl|busl|business source|"
    r"proprietary|commercial|cc[- ]by|creative commons attribution|artistic|\bosl\b|ms-pl|other/",
    re.IGNORECASE,
)
METADATA = re.compile(
    r"PKG-INFO|package\.json|[^/]+\.dist-info/METADATA|usr/share/doc/[^/]+/copyright"
)


def licence_of(archive: Path) -> str | None:
    """The permissive licence a package names for itself; None when it names another or none."""
    found = read_named(archive, METADATA)
    if found is None:
        return None
    if found.path.endswith("package.json"):
        return judge(_npm_words(found.text))
    if found.path.endswith("copyright"):
        return judge(_debian_words(found.text))
    return judge(_python_words(found.text))


def judge(words: list[str]) -> str | None:
    """Every statement about the licence must be permissive; the first one gives the name."""
    words = [word for word in words if word]
    if not words or any(REFUSED.search(word) for word in words):
        return None
    names = [_permissive(word) for word in words]
    return names[0] if all(names) else None


def _permissive(word: str) -> str | None:
    return next((name for name, sign in PERMISSIVE.items() if re.search(sign, word, re.I)), None)


def _python_words(text: str) -> list[str]:
    head = text.partition("\n\n")[0]
    expression = re.findall(r"^License-Expression: (.+)", head, re.M)
    if expression:
        return expression
    classifiers = re.findall(r"^Classifier: License :: (?:OSI Approved :: )?(.+)", head, re.M)
    classifiers = [word for word in classifiers if word != "OSI Approved"]
    # The field may hold a whole licence text: its first line names it.
    stated = re.findall(r"^License: (.{2,100})", head, re.M)
    stated = [word for word in stated if _permissive(word) or REFUSED.search(word)]
    return classifiers + stated


def _npm_words(text: str) -> list[str]:
    try:
        manifest = json.loads(text)
    except ValueError:
        return []
    stated = manifest.get("license") or manifest.get("licenses") or []
    entries = stated if isinstance(stated, list) else [stated]
    return [
        str(entry.get("type", "")) if isinstance(entry, dict) else str(entry) for entry in entries
    ]


def _debian_words(text: str) -> list[str]:
    """The licences in a machine-readable copyright file, without that of the packaging itself."""
    stanzas = re.split(r"\n\s*\n", text)
    return [
        licence
        for stanza in stanzas
        if stanza.startswith("Files:") and not re.match(r"Files:\s*debian/", stanza)
        for licence in re.findall(r"^License:\s*(.+)", stanza, re.M)
    ]
