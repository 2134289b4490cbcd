"""Pairs from Python: docstring or name → body, sentence ↔ signature, parameter ↔ meaning.

`definition_pairs` serves the other languages too."""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from training.corpus import Pair
from training.readers.comment_pairs import inner_comments
from training.readers.texts import (
    as_search,
    clean_comment,
    first_sentence,
    is_telling,
    lot,
    make_pair,
    open_name,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
DETAILS = re.compile(  # where a docstring goes from telling to listing
    r"\n\s*(?::(?:param|arg|type|return|rtype|raise|yield|ivar|cvar|key)|@\w+|Args:|Arguments|Returns|"
    r">>>|Parameters|Examples?\b|```|\.\. |# )"
)
PARAMETER = re.compile(
    r"^([ \t]*)(?::param (?:[\w.\[\], ]+ )?(\w+):[ \t]*|(\w+)(?: ?\([^)\n]*\))?: (?=[A-Z]))"
    r"(\S.*(?:\n\1[ \t]+\S.*)*)",  # goes on while the lines stand deeper
    re.M,
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class as the readers need it; texts are not indented."""

    name: str
    owner: str
    documentation: str
    signature: str
    body: str

    @property
    def qualified_name(self) -> str:
        return f"{self.owner}.{self.name}" if self.owner else self.name


def python_pairs(text: str, found: Iterable[Definition], source: str) -> Iterator[Pair]:
    """`found`: the definitions of the text, which others need too."""
    for definition in found:
        yield from definition_pairs(definition, source, language="python")
        yield from parameter_pairs(definition.documentation, source)
    yield from inner_comments(text, source, sign="#")


def definitions(text: str) -> Iterator[Definition]:
    """Every function and class of a module; nothing when it is not Python 3."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old packages have invalid escapes
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.split("\n")
    for node, owner in _walk(tree, ""):
        if isinstance(node, ast.ClassDef):
            yield _class_definition(node, lines, owner)
        else:
            yield _function_definition(node, lines, owner)


def _walk(node: ast.AST, owner: str) -> Iterator[tuple[Function | ast.ClassDef, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield child, owner
            yield from _walk(child, child.name)
        elif isinstance(child, Function):
            yield child, owner
        elif isinstance(child, ast.If | ast.Try):
            yield from _walk(child, owner)


def _function_definition(node: Function, lines: list[str], owner: str) -> Definition:
    documented = ast.get_docstring(node, clean=True) or ""
    first = node.body[1:2] if documented else node.body[:1]
    body = lines[first[0].lineno - 1 : node.end_lineno] if first else []
    start = (node.body[0].lineno if node.body else node.lineno) - 1
    head = lines[node.lineno - 1 : max(start, node.lineno)]
    return Definition(
        node.name,
        owner,
        documented,
        textwrap.dedent("\n".join(head)),
        textwrap.dedent("\n".join(body)),
    )


def _class_definition(node: ast.ClassDef, lines: list[str], owner: str) -> Definition:
    """The body of a class is the list of what it can do."""
    methods = [child for child in node.body if isinstance(child, Function)]
    heads = [
        f"    def {method.name}({ast.unparse(method.args)})"
        for method in methods
        if not method.name.startswith("_") or method.name == "__init__"
    ]
    head = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.body[0].lineno - 1]))
    return Definition(node.name, owner, ast.get_docstring(node) or "", head, "\n".join(heads))


def definition_pairs(definition: Definition, source: str, *, language: str) -> Iterator[Pair]:
    """What one definition teaches. The name is left out of the passage where it is the question."""
    if definition.name.lower().startswith("test"):
        return
    yield from documentation_pairs(definition.documentation, source)
    if len(definition.body) < 60 or definition.body.lstrip().startswith("raise NotImp"):
        yield from gloss_pairs(definition, source)
        return
    paragraph, rest = split_documentation(definition.documentation)
    sentence = first_sentence(paragraph)
    chance = lot(definition.name, definition.body)
    if is_telling(sentence):
        question = (
            as_search(sentence, language)
            if chance < 0.3
            else paragraph
            if chance < 0.6
            else sentence
        )
        passage = f"{definition.signature}\n{definition.body}"
        if rest and lot(passage) < 0.4:
            passage = f"{definition.signature}\n{rest}\n{definition.body}"
        yield from _kept(make_pair(question, passage, kind="code", source=source))
        yield from gloss_pairs(definition, source)
    if not is_telling(sentence) or chance > 0.8:
        yield from name_pairs(definition, source)


def documentation_pairs(documentation: str, source: str) -> Iterator[Pair]:
    """The first sentence of a long documentation asks for the prose that follows it."""
    paragraph, rest = split_documentation(documentation)
    sentence = first_sentence(paragraph)
    rest = DETAILS.split(f"\n{rest}")[0] if rest else ""
    told = clean_comment(f"{paragraph[len(sentence) :].lstrip('.:; ')}\n{rest}")
    if len(told) > 150 and is_telling(sentence, 4) and is_telling(told):
        yield from _kept(make_pair(sentence, told, kind="prose", source=source))


def gloss_pairs(definition: Definition, source: str) -> Iterator[Pair]:
    """The first sentence and the name it explains; asked one way or the other."""
    sentence = first_sentence(split_documentation(definition.documentation)[0])
    if not is_telling(sentence) or len(open_name(definition.name).split()) < 2:
        return
    chance = lot("gloss", definition.name, sentence)
    if chance < 0.5:
        name = definition.qualified_name if chance < 0.15 else open_name(definition.qualified_name)
        yield from _kept(make_pair(name, sentence, kind="gloss", source=source))
    elif chance < 0.9:
        signature = " ".join(definition.signature.split()).rstrip(":{ ")
        yield from _kept(make_pair(sentence, signature, kind="gloss", source=source))


def name_pairs(definition: Definition, source: str) -> Iterator[Pair]:
    told = len(open_name(definition.name).split()) >= 2 and len(definition.body) >= 100
    if definition.name.startswith("__") or not told:
        return
    full = definition.qualified_name.strip("_")
    name = open_name(full) if lot("name", full) < 0.6 else full
    yield from _kept(make_pair(name, definition.body, kind="code", source=source))


def parameter_pairs(documentation: str, source: str) -> Iterator[Pair]:
    """`max_retries` ↔ what its line in the docstring says."""
    for _, first, second, told in PARAMETER.findall(documentation):
        name, meaning = first or second, first_sentence(clean_comment(told))
        if (
            len(open_name(name).split()) >= 2
            and is_telling(meaning, 4)
            and lot(name, meaning) < 0.5
        ):
            yield from _kept(make_pair(open_name(name), meaning, kind="gloss", source=source))


def split_documentation(documentation: str) -> tuple[str, str]:
    """(the first paragraph on one line, the rest)."""
    first, _, rest = documentation.strip().partition("\n\n")
    first = DETAILS.split(first)[0]
    return clean_comment(first), rest.strip()


def _kept(pair: Pair | None) -> Iterator[Pair]:
    if pair is not None:
        yield pair
