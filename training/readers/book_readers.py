"""Turns the files of books and manuals into headings and paragraphs, one reader a format."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from training.readers.markdown_pairs import rst_as_markdown, sections, without_code

HEADINGS = frozenset(("h1", "h2", "h3", "h4", "dt"))
BLOCKS = frozenset(("p", "dd", "li", "blockquote"))
SILENT = frozenset(("script", "style", "pre", "nav", "table", "head", "footer"))
SENTENCE_END = re.compile(r"(?<=[.!?][\"')\]])\s+(?=[A-Z\"'(])|(?<=[a-z0-9)][.!?])\s+(?=[A-Z\"'(])")
SENTENCES_IN_A_ROW = 4  # where a text has no paragraphs of its own


@dataclass(frozen=True, slots=True)
class Passage:
    """A heading, "" where there is none, and the paragraphs below it."""

    heading: str
    paragraphs: tuple[str, ...]


def flat(text: str) -> str:
    return " ".join(text.split())


def sentences(paragraph: str) -> list[str]:
    return [sentence for sentence in SENTENCE_END.split(paragraph) if sentence]


class _Page(HTMLParser):
    """Collects (heading, paragraphs) of a page; what stands in silent elements is not heard."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = [("", [])]
        self.text: list[str] = []
        self.silent = 0
        self.in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in SILENT:
            self.silent += 1
        if tag in HEADINGS or tag in BLOCKS:
            self.end_block()
            self.in_heading = tag in HEADINGS

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self.silent = max(self.silent - 1, 0)
        if tag in HEADINGS or tag in BLOCKS:
            self.end_block()
            self.in_heading = False

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.text.append(data)

    def end_block(self) -> None:
        text = flat("".join(self.text)).replace("¶", "").strip()
        self.text = []
        if text and self.in_heading:
            self.found.append((text, []))
        elif text:
            self.found[-1][1].append(text)


def html_passages(text: str) -> Iterator[Passage]:
    page = _Page()
    page.feed(text)
    page.end_block()
    for heading, paragraphs in page.found:
        yield Passage(re.sub(r"^[A-Z\d.]+\.\s+|\s*#$", "", heading), tuple(paragraphs))


def rst_passages(text: str) -> Iterator[Passage]:
    for section in sections(rst_as_markdown(text)):
        paragraphs = (flat(part) for part in re.split(r"\n\s*\n", without_code(section.text)))
        yield Passage(section.heading, tuple(part for part in paragraphs if part))


def plain_passages(text: str) -> Iterator[Passage]:
    """Paragraphs between empty lines; a short line in capitals alone is a heading."""
    heading, paragraphs = "", list[str]()
    for block in re.split(r"\n\s*\n", text):
        line = flat(block)
        if line.isupper() and len(line) < 70:
            yield Passage(heading, tuple(paragraphs))
            heading, paragraphs = line.capitalize(), []
        elif line:
            paragraphs.append(line)
    yield Passage(heading, tuple(paragraphs))


def speech_passages(text: str) -> Iterator[Passage]:
    """A text on one line: so many sentences are a paragraph."""
    spoken = sentences(flat(text))
    rows = (
        spoken[start : start + SENTENCES_IN_A_ROW]
        for start in range(0, len(spoken), SENTENCES_IN_A_ROW)
    )
    yield Passage("", tuple(" ".join(row) for row in rows))


def factbook_passages(text: str) -> Iterator[Passage]:
    """Country profiles: {group: {title: {"text": …}}}."""
    profile = json.loads(text)
    names = (
        profile.get("Government", {}).get("Country name", {}) if isinstance(profile, dict) else {}
    )
    short = names.get("conventional short form", {}).get("text", "")
    if not short or short == "none":
        return
    for group in profile.values():
        for title, entry in group.items() if isinstance(group, dict) else ():
            parts = (
                [entry["text"]]
                if "text" in entry
                else [f"{k}: {v['text']}" for k, v in entry.items() if "text" in v]
            )
            told = flat(re.sub(r"<[^>]+>|\+\+", " ", "; ".join(parts)))
            yield Passage(f"{title} of {short}", (f"{short}. {told}",))


def jargon_passages(text: str) -> Iterator[Passage]:
    """Entries `:headword: …` of the Jargon File."""
    for entry in re.split(r"\n(?=\s*:[^:\n]{2,40}:)", text):
        named = re.match(r"\s*:([^:\n]{2,40}):(.*)", entry, re.S)
        if named:
            yield Passage(named[1], (re.sub(r"[{}]|\[[^\]]*\]", "", flat(named[2])),))


def wordnet_passages(text: str) -> Iterator[Passage]:
    """Synonyms as the heading; definition and examples as the paragraph."""
    for line in text.splitlines():
        fields, _, gloss = line.partition(" | ")
        numbers = fields.split(" ")
        if not gloss or ";" not in gloss or not numbers[0].isdigit():
            continue
        words = [
            re.sub(r"\(\w+\)$", "", word).replace("_", " ")
            for word in numbers[4 : 4 + 2 * int(numbers[3], 16) : 2]
        ]
        yield Passage(", ".join(words), (gloss.strip(),))


READERS: dict[str, Callable[[str], Iterator[Passage]]] = {
    "html": html_passages,
    "rst": rst_passages,
    "plain": plain_passages,
    "speech": speech_passages,
    "factbook": factbook_passages,
    "jargon": jargon_passages,
    "wordnet": wordnet_passages,
}
