"""Pairs from languages with the comment above the definition: C, Go, Rust, JavaScript, Ruby, PHP …

No grammar is needed: a comment block, a line that declares something right below it, and the lines
up to the one that closes at the same depth.
"""

import re
import textwrap
from collections.abc import Iterator

from training.corpus import Pair
from training.readers.comment_pairs import inner_comments
from training.readers.python_pairs import Definition, definition_pairs
from training.readers.texts import WORDS

LANGUAGES = {
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
    ".vue": "javascript", ".svelte": "javascript", ".ts": "typescript", ".tsx": "typescript",
    ".go": "golang", ".rs": "rust", ".java": "java", ".kt": "kotlin", ".scala": "scala",
    ".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".hpp": "c++", ".cs": "c#",
    ".swift": "swift", ".php": "php", ".rb": "ruby",
}  # fmt: skip
LONGEST_BODY = 40  # lines
DECLARATIONS = [
    re.compile(pattern)
    for pattern in (
        r"\bfunction\s*\*?\s+(\w+)",
        r"\b(?:fn|func|fun)\s+(?:\([^)]*\)\s*)?(\w+)",
        r"\bdef\s+(?:self\.)?(\w+)",
        r"\b(?:class|struct|interface|trait|enum|module|union|protocol|type)\s+(\w+)",
        r"(?:^|[\s.])(\w+)\s*[:=]\s*(?:async\s+)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>)",
        r"^\s*(?:[\w<>:*&\[\],?~$]+ +){0,6}[*&]*([\w$]+)\s*\([^;]*\{\s*$",
        r"^\s*(?:[\w<>:*&\[\],?~$]+ +){1,6}[*&]*([\w$]+)\s*\([^;]*[,()]\s*$",
    )
]
NOT_NAMES = frozenset(
    WORDS.findall(
        "if for while switch catch return new else do require describe it expect constructor"
    )
)
DESCRIBED = re.compile(r"@(?:desc|description|brief)\s+(.+)")
TAG = re.compile(r"(?:^|\n)\s*@\w+")
CLOSING = re.compile(r"\s*(\}|end\b|\)\s*;?$)")
RUBY = re.compile(r"\s*(def|class|module)\b")
STATEMENT = re.compile(
    r"\s*(return|await|throw|else|case|yield|if|for|while|switch|catch|assert|delete|import|goto)\b"
)
ATTRIBUTE = re.compile(r"^\s*(#\[|@\w|\[\w+|template\s*<)")


def brace_pairs(text: str, source: str, suffix: str) -> Iterator[Pair]:
    language = LANGUAGES[suffix]
    sign = "#" if language == "ruby" else "//"
    for definition in commented_definitions(text, sign):
        yield from definition_pairs(definition, source, language=language)
    yield from inner_comments(text, source, sign=sign)


def commented_definitions(text: str, sign: str) -> Iterator[Definition]:
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        if not lines[place].lstrip().startswith((sign, "/*")):
            place += 1
            continue
        comment, after = take_comment(lines, place, sign)
        place = after
        if comment:
            while after < len(lines) and ATTRIBUTE.match(lines[after]):
                after += 1
            definition = read_definition(lines, after, comment)
            if definition is not None:
                yield definition


def take_comment(lines: list[str], place: int, sign: str) -> tuple[str, int]:
    """The words of the comment block that begins at `place`, and the place after it."""
    line = lines[place].lstrip()
    said = []
    if line.startswith("/*"):
        ended = False
        while place < len(lines) and not ended:
            ended = "*/" in lines[place]
            said.append(lines[place].strip().removeprefix("/*").removesuffix("*/").strip("*! "))
            place += 1
    else:
        while place < len(lines) and lines[place].lstrip().startswith(sign):
            said.append(lines[place].strip().lstrip("/#!").removeprefix(" "))
            place += 1
    kept = "\n".join(said).strip()
    described = DESCRIBED.search(kept)
    # What follows the first tag is about parameters.
    return (described[1] if described else TAG.split(kept)[0].strip()), place


def read_definition(lines: list[str], place: int, comment: str) -> Definition | None:
    if place >= len(lines):
        return None
    name = declared_name(lines[place])
    if name is None:
        return None
    block = _take_block(lines, place)
    signature, body = _split_signature(block)
    said = re.sub(rf"^{re.escape(name)}\s+(?=[a-z])", "", comment)  # Go begins with the name
    return Definition(name, "", said, signature, body)


def declared_name(line: str) -> str | None:
    if STATEMENT.match(line) or len(line) > 200:
        return None
    for pattern in DECLARATIONS:
        found = pattern.search(line)
        if found and found[1] not in NOT_NAMES and not found[1].isdigit():
            return found[1]
    return None


def _take_block(lines: list[str], place: int) -> list[str]:
    """The lines up to the first one that closes at the depth of the declaration."""
    depth = len(lines[place]) - len(lines[place].lstrip())
    block = [lines[place]]
    if lines[place].rstrip().endswith((";", "}")):
        return block
    for line in lines[place + 1 : place + LONGEST_BODY]:
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < depth:
            break
        opened = RUBY.match(block[0]) or any("{" in above for above in block)
        if not opened and not line.strip():
            break
        block.append(line)
        if not opened and line.rstrip().endswith(";"):
            break  # a declaration without a body
        closes = indent == depth and CLOSING.match(line)
        if closes and not line.rstrip().endswith("{"):
            break
    return textwrap.dedent("\n".join(block)).split("\n")


def _split_signature(block: list[str]) -> tuple[str, str]:
    """The head up to its brace, at most twelve lines of it, and what follows."""
    for count, line in enumerate(block[:12], start=1):
        if line.rstrip().endswith(("{", "=>", "=> {", "({")):
            return "\n".join(block[:count]), textwrap.dedent("\n".join(block[count:]))
    return block[0], textwrap.dedent("\n".join(block[1:]))
