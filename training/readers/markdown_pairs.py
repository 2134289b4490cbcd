"""Pairs from Markdown and reStructuredText: heading → section, sentence → what stands below it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from training.corpus import Pair
from training.readers.texts import (
    QUESTION_LENGTHS,
    WORDS,
    clean_comment,
    cut,
    first_sentence,
    is_english,
    is_telling,
    lot,
    make_pair,
    open_name,
)

# Headings that say nothing alone: the heading above or the package's name is put before them.
BARE = frozenset(
    WORDS.findall(
        "basic advanced quick more simple usage usages use installation installing install "
        "example examples api option options feature features overview introduction getting "
        "started start quickstart configuration method methods properties parameters parameter "
        "arguments argument requirements note notes description faq details background "
        "motivation syntax returns return setup why about reference events tips summary "
        "documentation how it works caveats limitations todo settings commands command "
        "dependencies support see also and the a in to code running tests output input class "
        "classes function functions module demo help warning questions license general misc "
        "other prerequisites development"
    )
)
SKIPPED = re.compile(
    r"licen[sc]e|contribut|changelog|change log|release|authors?$|credits|acknowledg|contents$|"
    r"sponsor|backers|badges|links|^v?\d+\.\d|thanks|copyright|maintainers|^indices",
    re.IGNORECASE,
)
LIST_MARK = re.compile(r"([*+•-]|\(?\w{1,2}[.)])\s")
RST_LINE = re.compile(r"^([=\-~^\"'#*+`.:_])\1{2,}\s*$")


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    above: str  # the heading one level up, "" at the top
    text: str


def document_pairs(text: str, source: str, package: str) -> Iterator[Pair]:
    for section in sections(rst_as_markdown(text)):
        if SKIPPED.search(section.heading):
            continue
        yield from section_pairs(section, source, package)
        yield from lead_pairs(section, source)


def rst_as_markdown(text: str) -> str:
    """Underlined headings and literal blocks as Markdown writes them; the rest stays as it is."""
    lines = text.split("\n")
    out: list[str] = []
    signs: list[str] = []
    for line in lines:
        mark = RST_LINE.match(line)
        heading = out[-1] if out else ""
        if (
            mark
            and heading.strip()
            and not heading.startswith(("#", " ", "|", "-"))
            and len(line) >= len(heading) - 2
        ):
            if mark[1] not in signs:
                signs.append(mark[1])
            out[-1] = f"{'#' * (signs.index(mark[1]) + 1)} {heading.strip()}"
        elif not (mark and mark[1] in "=~^\"'*+"):  # an overline
            out.append(line)
    joined = "\n".join(out)
    joined = re.sub(
        r"^\.\. (?:code-block|code|sourcecode):: ?(\w*).*\n(?:\s+:.*\n)*",
        r"::\n",
        joined,
        flags=re.M,
    )
    return re.sub(
        r"::[ \t]*\n\n*((?:[ \t]+\S.*\n?|[ \t]*\n)+)",
        lambda found: ":\n\n```\n" + _dedent(found[1]).strip("\n") + "\n```\n\n",
        joined,
    )


def _dedent(block: str) -> str:
    depths = [len(line) - len(line.lstrip()) for line in block.split("\n") if line.strip()]
    least = min(depths, default=0)
    return "\n".join(line[least:] for line in block.split("\n"))


def sections(text: str) -> Iterator[Section]:
    """The parts of a document between its headings; lines in code fences are no headings."""
    path: list[tuple[int, str]] = []
    body: list[str] = []
    fenced = False
    for line in [*text.split("\n"), "# "]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        mark = None if fenced else re.match(r"(#{1,6})\s(.*)$", line)
        if mark is None:
            body.append(line)
            continue
        if path and any(map(str.strip, body)):
            yield Section(path[-1][1], path[-2][1] if len(path) > 1 else "", "\n".join(body))
        path = [entry for entry in path if entry[0] < len(mark[1])]
        path.append((len(mark[1]), clean_comment(mark[2].strip("# "))))
        body = []


def section_pairs(section: Section, source: str, package: str) -> Iterator[Pair]:
    """The heading, told apart where it is bare, and what stands below it."""
    heading = re.sub(r"\{[:#].*|^[\d.\s§:]+|[^\w)?!.]+$", "", section.heading).strip()
    if not heading or len(heading) > 100:
        return
    above = "" if is_bare(section.above) else section.above
    if is_bare(heading):
        heading = f"{above or open_name(package)} {heading}"
    elif above and lot(heading, section.text) < 0.3 and len(above) < 60:
        heading = f"{above} {heading}"
    passage = plain(section.text)
    prose = without_code(section.text)
    if len(prose) > 60 and is_english(prose[:400]) and prose.count(" ") > 8:
        pair = make_pair(heading, passage, kind="prose", source=source)
        if pair is not None and len(pair.a.split()) >= 2:
            yield pair


def is_bare(heading: str) -> bool:
    return all(word in BARE for word in re.findall(r"\w+", heading.lower()))


def lead_pairs(section: Section, source: str) -> Iterator[Pair]:
    """A sentence asks for the code block below it; the first of a paragraph for its rest."""
    blocks = re.split(r"^[ \t]*(?:```|~~~)[^\n]*\n?", section.text, flags=re.M)
    for text, code in zip(blocks[::2], blocks[1::2], strict=False):
        paragraphs = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
        lead = first_sentence(clean_comment(paragraphs[-1])) if paragraphs else ""
        if is_telling(lead, 4) and len(code) >= 60 and _is_code(code):
            yield from _some(make_pair(lead, code, kind="code", source=source))
    for paragraph in re.split(r"\n\s*\n", without_code(section.text)):
        flat = " ".join(paragraph.split())
        if LIST_MARK.match(flat):
            continue
        sentence = first_sentence(flat)
        rest = flat[len(sentence) :].lstrip(".:;,?! ")
        whole = len(sentence) < QUESTION_LENGTHS[1] - 20  # longer ones were cut
        if whole and len(rest) > 150 and is_telling(sentence, 5) and is_english(rest):
            yield from _some(make_pair(sentence, rest, kind="prose", source=source))


def plain(text: str) -> str:
    """A section as it reads: code kept; images, comments, addresses and directives dropped."""
    text = re.sub(
        r"<!--.*?-->|<img[^>]*>|\[!\[[^\]]*\]\([^)]*\)\](\([^)]*\))?|!\[[^\]]*\]\([^)]*\)",
        "",
        text,
        flags=re.S,
    )
    text = re.sub(
        r"^\[[^\]]+\]: .*$|^\.\. .*(?:\n[ \t]+.*)*$|^[ \t]*(```|~~~).*$|^[-=*_|\s:]{3,}$",
        "",
        text,
        flags=re.M,
    )
    text = re.sub(r"\[([^\]]+)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r":[\w:]+:`~?([^`<]+?)(?:\s*<[^>]*>)?`", r"\1", text)
    text = re.sub(r"`([^`<]+?)\s*<[^>]*>`__?", r"\1", text)
    text = re.sub(r"</?[a-zA-Z][^>\n]*>|\*\*|`", "", text)
    text = re.sub(r"https?://\S{30,}", "", text)
    return cut(re.sub(r"\n\s*\n+", "\n", text).strip(), 600)


def without_code(text: str) -> str:
    """Only the words of a section, tables and lists of links left out too."""
    text = re.sub(r"^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$", "", text, flags=re.M | re.S)
    text = re.sub(r"^[ \t]*\|.*$|^(?: {4,}|\t).*$|^[ \t]*[$>].*$", "", text, flags=re.M)
    parts = (plain(part) for part in re.split(r"\n\s*\n", text))
    return "\n\n".join(part for part in parts if part)


def _is_code(text: str) -> bool:
    return bool(re.search(r"[(){}\[\]=;]", text)) and text.count("\n") >= 2


def _some(pair: Pair | None) -> Iterator[Pair]:
    if pair is not None:
        yield pair
