"""Reads Chinese, Japanese and Korean texts and makes (asked, passage) of them.

Catalogues of messages give translations, documents give headings and first sentences, comments
explain the code below them.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from training.readers.book_readers import html_passages
from training.readers.markdown_pairs import plain, rst_as_markdown, sections
from training.readers.texts import clean_comment, cut, lot

Said = tuple[str, str]  # what is asked, and the passage

HAN = r"\u4e00-\u9fff"
KANA = r"\u3040-\u30ff"
HANGUL = r"\uac00-\ud7af"
SIGN = re.compile(f"[{HAN}{KANA}{HANGUL}]")
SENTENCE = re.compile(
    r"(?<=[。！？!?])\s*|(?<=[다요함음임됨까][.?!])\s+|(?<=\.)\s+(?=[A-Z\uac00-\ud7af])|\n+"
)
LANGUAGE_TOKEN = re.compile(
    r"(?<![A-Za-z])(zh(?:[-_]?(?:hans|hant|cn|tw))?(?:[-_](?:cn|tw))?|cn|ja(?:[-_]jp)?|jp|ko(?:[-_]kr)?|kr|en(?:[-_](?:us|gb))?)"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
SHARE_OF_NEIGHBOURS = 0.25  # Chinese beside Japanese teaches less than either beside English
SHORTEST_DEFINITION = 90  # signs; below that a property is only read
SHORTEST_DECLARATION = 30  # signs; below that there is only a name
ASKED = {
    "zh": ("{}", "{}", "关于{}", "{}是什么？", "{}怎么办？", "请问{}", "怎样理解{}？"),
    "ja": (
        "{}",
        "{}",
        "{}とは？",
        "{}について",
        "{}は何ですか？",
        "{}の説明",
        "{}はどうなりますか？",
    ),
    "ko": (
        "{}",
        "{}",
        "{}에 대해",
        "{} 설명",
        "{}란 무엇인가요?",
        "{} 어떻게 하나요?",
        "{} 관련 내용",
    ),
}


def language_of(text: str) -> str | None:
    """ja, ko or zh by the signs used; None where fewer than a quarter of the letters are theirs."""
    signs = len(SIGN.findall(text))
    if signs < 4 or signs * 4 < len(re.findall(r"\w", text)):
        return None
    hangul, kana = len(re.findall(f"[{HANGUL}]", text)), len(re.findall(f"[{KANA}]", text))
    if hangul * 3 > signs:
        return "ko"
    return "ja" if kana * 8 > signs else "zh"


def po_entries(text: str) -> Iterator[Said]:
    """(original, translation) of a gettext catalogue; fuzzy ones are left out."""
    for entry in re.split(r"\n\s*\n", text):
        if "#, fuzzy" in entry or entry.lstrip().startswith("#~"):
            continue
        fields = dict[str, str]()
        for key, quoted in re.findall(
            r'^(msgid|msgstr(?:\[0\])?) ((?:"(?:[^"\\]|\\.)*"\s*)+)', entry, re.M
        ):
            parts = re.findall(r'"((?:[^"\\]|\\.)*)"', quoted)
            fields[key.partition("[")[0]] = unquoted("".join(parts))
        if fields.get("msgid") and fields.get("msgstr"):
            yield fields["msgid"], fields["msgstr"]


def unquoted(text: str) -> str:
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\t", " ").replace("\\\\", "\\")


def json_messages(text: str) -> dict[str, str]:
    """Every string of a JSON file under the path of its keys."""

    def walk(node: object, path: str) -> Iterator[Said]:
        if isinstance(node, str):
            yield path, node
        elif isinstance(node, dict):
            for key, below in node.items():
                yield from walk(below, f"{path}/{key}")

    try:
        return dict(walk(json.loads(text), ""))
    except ValueError:
        return {}


def properties_messages(text: str) -> dict[str, str]:
    """`key=value` lines; signs may be written as \\uXXXX."""
    lines = re.findall(r"^([\w.\-]+)\s*=\s*(.+)$", text, re.M)
    return {
        key: re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), value)
        for key, value in lines
    }


def script_messages(text: str) -> dict[str, str]:
    """`key: "value"` of a locale written as JavaScript, without the keys that come twice."""
    entries = re.findall(
        r"""["']?([\w.\-/ ]+)["']?\]?\s*[:=]\s*(["'`])((?:(?!\2)[^\\\n]|\\.)*)\2""", text
    )
    counts = Counter(key for key, _, _ in entries)
    return {key: unquoted(value) for key, _, value in entries if counts[key] == 1}


CATALOGUES: Mapping[str, Callable[[str], dict[str, str]]] = {
    ".json": json_messages,
    ".properties": properties_messages,
    ".js": script_messages,
    ".ts": script_messages,
}


def grouped(files: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Files that differ in their language alone: {pattern: {language token: text}}."""
    groups = dict[str, dict[str, str]]()
    for path, text in files.items():
        token = LANGUAGE_TOKEN.findall(path)
        if token:
            groups.setdefault(LANGUAGE_TOKEN.sub("*", path), {})[token[-1].lower()] = text
    return {pattern: texts for pattern, texts in groups.items() if len(texts) > 1}


def catalogue_entries(files: Mapping[str, str]) -> Iterator[Said]:
    """Messages under one key: with English, some with a neighbour, and with a spoken key."""
    for pattern, texts in grouped(files).items():
        read = {token: CATALOGUES[Path(pattern).suffix](text) for token, text in texts.items()}
        for one, other in combinations(
            sorted(read, key=lambda token: (not token.startswith("en"), token)), 2
        ):
            share = (
                1 if one.startswith("en") else 0 if one[:2] == other[:2] else SHARE_OF_NEIGHBOURS
            )
            for key in sorted(read[one].keys() & read[other].keys()):
                if lot(pattern, key) < share:
                    yield read[one][key], read[other][key]
        for messages in read.values():
            yield from (
                (spoken_key(key), message)
                for key, message in messages.items()
                if key.count("_") >= 4
            )


def spoken_key(key: str) -> str:
    """`/A_label_is_not_allowed_here_1344` → `A label is not allowed here`."""
    return re.sub(r"_|\d{3,}$", " ", key.rpartition("/")[2]).strip()


def translations(entries: Iterator[Said]) -> Iterator[Said]:
    """Either side may ask for the other."""
    for one, other in entries:
        first, second = clean_comment(one), clean_comment(other)
        if first != second and SIGN.search(first + second) and min(len(first), len(second)) >= 5:
            yield (first, second) if lot(first, second) < 0.6 else (second, first)
            yield from paragraph_entries(second)


def document_entries(text: str, suffix: str) -> Iterator[Said]:
    if suffix in (".html", ".htm"):
        passages = ((found.heading, "\n".join(found.paragraphs)) for found in html_passages(text))
    else:
        passages = (
            (found.heading, plain(found.text)) for found in sections(rst_as_markdown(f"# \n{text}"))
        )
    for heading, body in passages:
        if language_of(body) is None:
            continue
        if len(heading) >= 3 and not heading.isascii():
            yield heading, body
        for paragraph in body.split("\n"):
            yield from paragraph_entries(paragraph)


def paragraph_entries(paragraph: str) -> Iterator[Said]:
    """The first sentence asks for the rest; a clause, as somebody remembers it, for the whole."""
    language = language_of(paragraph)
    told = [part for part in SENTENCE.split(paragraph) if part and part.strip()]
    if language is None or len(paragraph) < 30:
        return
    if len(told) > 1 and lot("first", paragraph) < 0.5:
        yield told[0], " ".join(told[1:]) if language == "ko" else "".join(told[1:])
    clauses = [
        part.strip()
        for part in re.split(r"[，、,。；;：:（）()「」.!?！？\n]", paragraph)
        if 6 <= len(part.strip()) <= 30
    ]
    clauses = [
        re.sub(r"(?<=.{4})[はがをにでともの]+$", "", clause)
        for clause in clauses
        if SIGN.search(clause)
    ]
    if clauses and len(paragraph) >= 45:
        clause = clauses[int(lot("clause", paragraph) * len(clauses))]
        asked = ASKED[language][int(lot("asked", paragraph) * len(ASKED[language]))]
        yield asked.format(clause), paragraph


def python_entries(text: str) -> Iterator[Said]:
    """Docstrings: the first line asks for the definition, and for the rest of the docstring."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        docstring = clean_docstring(ast.get_docstring(node) or "")
        first, _, rest = docstring.partition("\n")
        if language_of(first) is None:
            continue
        node.body = node.body[1:]  # without the docstring
        code = ast.unparse(node) if node.body else ""
        if len(code) >= SHORTEST_DEFINITION:
            yield first, "\n".join(code.splitlines()[:14])
        if language_of(rest) is not None:
            yield first, rest
            yield from paragraph_entries(" ".join(rest.split()))


def clean_docstring(text: str) -> str:
    text = re.sub(r"</?\w+[^>]*>", " ", text)
    text = re.sub(r"^\s*:r?type\b.*$", "", text, flags=re.M)
    return re.sub(r"^\s*:(?:param|return\w*)[^:\n]*:?", "", text, flags=re.M).strip()


def script_entries(text: str) -> Iterator[Said]:
    """A comment before a declaration asks for it."""
    for comment, below in re.findall(r"/\*\*(.*?)\*/\s*\n?((?:[^\n]*\n){1,8})", text, re.S):
        words = clean_comment(
            re.sub(r"^\s*\*+|@\w+|(参考|文档|see)?[：: ]*https?://\S+", " ", comment, flags=re.M)
        )
        if language_of(words) is not None and 6 <= len(words) <= 400:
            declared = below.partition("/**")[0].strip()
            if len(declared) >= SHORTEST_DECLARATION:
                yield cut(words, 200), declared
            yield from paragraph_entries(words)


def poet_entries(text: str) -> Iterator[Said]:
    """Lives of poets, and poems, in classical Chinese."""
    for entry in json.loads(text):
        name, life = entry.get("name", ""), entry.get("desc", "")
        if len(life) > 40:
            yield f"{name}{('是誰？', '的生平', '是什麼時候的人？', '')[int(lot(name) * 4)]}", life
            yield from paragraph_entries(life)
        elif entry.get("paragraphs") and lot(entry["title"]) < 0.2:
            yield f"{entry['author']} {entry['title']}", "".join(entry["paragraphs"])


def clean(text: str) -> str:
    return re.sub(r"https?://\S+|[ \t\u3000]+", " ", text).strip()
