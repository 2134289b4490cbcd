"""Real code chunks for the searches, and what people might ask of them.

Some 286,000 distinct chunks are cut by our own parser from the standard library of this
interpreter and the Python files of PACKAGES, which pip fetches once (150 MB; nothing of them is
installed or run). Files come in a shuffled order that is always the same, so that a smaller size is
a beginning of a larger one and holds a bit of every package. Chunks with equal text are taken once.

Beyond the first 250,000, chunks are generated from those: copy after copy of them is made in which
half of the identifiers are renamed. The half is drawn anew for every copy, and its members change
places with others of nearly the same number of occurrences. No name is invented, and each copy has
as many frequent and rare words as the original; only who meets whom differs.

With AURORA_BENCHMARK_TINY in the environment there are few chunks, of the standard library alone:
nothing is fetched, and a script shows within seconds whether it still runs.
"""

from __future__ import annotations

import hashlib
import json
import keyword
import os
import random
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from aurora.parsers.registry import parser_for
from aurora.types import Chunk, Document, Kind

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "search"
WHEELS = CACHE / "wheels"
PACKAGES = (
    *("ansible-core==2.19.14", "botocore==1.44.0", "django==5.2.19", "matplotlib==3.11.2"),
    *("networkx==3.6.1", "numpy==2.4.6", "pandas==3.1.1", "scikit-learn==1.9.1", "scipy==1.17.1"),
    *("sqlalchemy==2.1.8", "statsmodels==0.15.0", "sympy==1.14.0", "twisted==26.10.0"),
)
COPIED = 250_000  # real chunks that larger sizes are made of
QUERIES = 200
ASKED = 10_000  # queries come from the first so many chunks, which every size holds
NEIGHBOURS = 64  # identifiers change places within so many of nearly the same frequency
SEED = 20260101
if "AURORA_BENCHMARK_TINY" in os.environ:
    PACKAGES, ASKED, QUERIES = (), 1_000, 12
    CACHE /= "tiny"
SORTS = ("identifier", "words", "question")

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{3,}")
_DOCSTRING = re.compile(r'"""\s*(.+?)(?:\.\s|\.?"""|\n\s*\n)', re.DOTALL)
_COMMENT = re.compile(r"^\s*# ([A-Za-z][\w ,']{20,})$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_OPENINGS = ("how to", "where do we", "which function does", "what is used to")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and of which sort it is: identifier, words or question."""

    sort: str
    text: str


def fetch_packages() -> None:
    """Download what is not there yet."""
    missing = [package for package in PACKAGES if wheel(package) is None]
    if missing:
        print(f"fetching {len(missing)} packages", file=sys.stderr)
        options = ("--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(WHEELS))
        subprocess.run([sys.executable, "-m", "pip", "download", *options, *missing], check=True)


def wheel(package: str) -> Path | None:
    name, version = package.split("==")
    return next(WHEELS.glob(f"{name.replace('-', '_')}-{version}-*.whl"), None)


def documents() -> list[Document]:
    """Every Python file there is, shuffled. Paths are those within a package, not of this disk."""
    library = Path(sysconfig.get_path("stdlib"))
    found = [
        Document(f"python/{file.relative_to(library).as_posix()}", _text(file.read_bytes()))
        for file in sorted(library.rglob("*.py"))
        if "site-packages" not in file.parts
    ]
    for path in filter(None, map(wheel, PACKAGES)):
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.endswith(".py"))
            found += [Document(name, _text(archive.read(name))) for name in names]
    random.Random(SEED).shuffle(found)  # noqa: S311 - not for secrets
    return found


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")


def real_chunks() -> Iterator[Chunk]:
    """Every distinct chunk of the documents."""
    seen: set[bytes] = set()
    for document in documents():
        for chunk in parser_for(document.path).parse(document).chunks:
            digest = hashlib.sha256(chunk.content.encode()).digest()
            if digest not in seen:
                seen.add(digest)
                yield chunk


def chunks(count: int) -> Iterator[Chunk]:
    """So many chunks: real ones, then renamed copies of them."""
    real = list(islice(real_chunks(), max(ASKED, min(count, COPIED))))
    yield from real[:count]
    missing, number = count - len(real), 0
    while missing > 0:
        number += 1
        yield from islice(renamed(real, number), missing)
        missing -= len(real)


def renamed(real: Sequence[Chunk], number: int) -> Iterator[Chunk]:
    """A copy of all chunks in which half of the identifiers are others."""
    swaps = exchanges(real, number)

    def other(match: re.Match[str]) -> str:
        return swaps.get(match[0], match[0])

    for chunk in real:
        yield replace(
            chunk,
            id=f"copy{number}/{chunk.id}",
            path=f"copy{number}/{_rename(chunk.path, other)}",
            name=_rename(chunk.name, other),
            qualified_name=_rename(chunk.qualified_name, other),
            content=_rename(chunk.content, other),
        )


def _rename(text: str, other: Callable[[re.Match[str]], str]) -> str:
    return _IDENTIFIER.sub(other, text)


def exchanges(real: Sequence[Chunk], number: int) -> Mapping[str, str]:
    """Who takes whose place in a copy: one to one, among identifiers of like frequency."""
    counts: Counter[str] = Counter()
    for chunk in real:
        counts.update(_IDENTIFIER.findall(chunk.content))
    draw = random.Random(SEED + number)  # noqa: S311 - not for secrets
    names = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    chosen = [name for name in names if not keyword.iskeyword(name) and draw.random() < 0.5]
    swaps: dict[str, str] = {}
    for start in range(0, len(chosen), NEIGHBOURS):
        group = chosen[start : start + NEIGHBOURS]
        swaps.update(zip(group, draw.sample(group, len(group)), strict=True))
    return swaps


def questions() -> list[Question]:
    """The same 200 for every size: a third each of identifiers, of words, of questions."""
    kept = CACHE / "questions.json"
    if not kept.exists():
        made = sample_questions(list(islice(real_chunks(), ASKED)))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([[one.sort, one.text] for one in made], indent=1) + "\n")
    return [Question(sort, text) for sort, text in json.loads(kept.read_text())]


def sample_questions(asked: Sequence[Chunk]) -> list[Question]:
    draw = random.Random(SEED)  # noqa: S311 - not for secrets
    sentences = sorted(
        {" ".join(found[1].split()) for one in asked if (found := _DOCSTRING.search(one.content))}
    )
    remarks = sorted({text for one in asked for text in _COMMENT.findall(one.content)})
    names = sorted({one.name for one in asked if _is_identifier(one)})
    third = QUERIES // 3
    phrases = [_phrase(text, draw) for text in draw.sample(sentences + remarks, 4 * third)]
    whole = [_question(text, draw) for text in draw.sample(sentences, 4 * third)]
    return [
        *(Question("identifier", name) for name in draw.sample(names, third)),
        *(Question("words", text) for text in _distinct(phrases, third)),
        *(Question("question", text) for text in _distinct(whole, QUERIES - 2 * third)),
    ]


def _is_identifier(chunk: Chunk) -> bool:
    kinds = (Kind.FUNCTION, Kind.METHOD, Kind.CLASS)
    unlikely = chunk.name.lower().startswith(("__", "test"))
    return chunk.kind in kinds and len(chunk.name) >= 4 and not unlikely


def _phrase(text: str, draw: random.Random) -> str | None:
    """Two to four words that stand side by side."""
    words, length = _WORD.findall(text), draw.randint(2, 4)
    if len(words) < length:
        return None
    start = draw.randrange(len(words) - length + 1)
    return " ".join(words[start : start + length]).lower()


def _question(text: str, draw: random.Random) -> str | None:
    """Five to nine words, the first of them as people begin."""
    opening = draw.choice(_OPENINGS)
    words, length = _WORD.findall(text), draw.randint(5, 9) - len(opening.split())
    return f"{opening} {' '.join(words[:length]).lower()}" if len(words) >= length else None


def _distinct(texts: Sequence[str | None], count: int) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text is not None))[:count]
