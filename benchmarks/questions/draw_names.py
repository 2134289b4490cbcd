"""Draw the names of benchmarks/questions/names: definitions of every kind, with their places.

    python benchmarks/questions/draw_names.py FOLDER [--only gin]

FOLDER holds a git repository for each file of benchmarks/questions, under the file's name and at
its commit. universal-ctags lists the definitions. A tag counts only when its line looks like a
definition of its kind, because ctags takes some types and calls for names. A name is drawn when
all its definitions in the source (outside of tests, examples, documents and scripts) are of one
kind and there are at most five of them; its places are all its definitions, in tests too. A plain
word on more than 50 lines that names no function, method or class is left out: such a query is a
word, not a name. The draw has a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

QUESTIONS = Path(__file__).resolve().parent
SEED = 20261118
CHUNKED = ("function", "method", "class")  # what a parser makes a chunk of
COUNT, CHUNKED_COUNT, TEST_COUNT = 60, 24, 6  # names of a repository; of these
MOST_PLACES = 5
SUFFIXES = (".py", ".go", ".ts", ".js", ".rs", ".java")
MOST_LINES = 50  # of a plain word
WRONG = {"exports", "type", "types"}  # seen in an earlier draw: not names, or words of the language
BESIDE = re.compile(  # the source
    r"(^|/)(\w*tests?|__tests__|testdata|examples?|docs\w*|scripts|dts-\S*)/|[._]test\b|\.(spec|bench)"
)

# By language, kind and scope of a tag: the kind of name, and what its line looks like.
Shape = tuple[str, str]
VALUE = r"^(?:export )?(?:declare )?(?:const|let|var) NAME\b(?!.*require\()"
SHAPES: dict[tuple[str, str, str], Shape] = {
    ("Python", "function", ""): ("function", r"^(async )?def NAME\b"),
    ("Python", "function", "function"): ("nested function", r"^\s+(async )?def NAME\b"),
    ("Python", "function", "member"): ("nested function", r"^\s+(async )?def NAME\b"),
    ("Python", "member", "class"): ("method", r"^\s+(async )?def NAME\b"),
    ("Python", "class", ""): ("class", r"^class NAME\b"),
    ("Python", "variable", ""): ("variable", r"^NAME\s*[:=]"),
    ("Python", "variable", "class"): ("field", r"^\s+NAME\s*[:=]"),
    ("Go", "func", "package"): ("function", r"^func NAME\b"),
    ("Go", "func", "struct"): ("method", r"^func \(.*\) NAME\b"),
    ("Go", "func", "type"): ("method", r"^func \(.*\) NAME\b"),
    ("Go", "struct", "package"): ("class", r"^(type|\t)\s*NAME\b"),
    ("Go", "interface", "package"): ("class", r"^(type|\t)\s*NAME\b"),
    ("Go", "type", "package"): ("type", r"^(type|\t)\s*NAME\b"),
    ("Go", "const", "package"): ("constant", r"^(const|\t)\s*NAME\b"),
    ("Go", "var", "package"): ("variable", r"^(var|\t)\s*NAME\b"),
    ("Go", "member", "struct"): ("field", r"^\t+NAME\b"),
    ("Go", "methodSpec", "interface"): ("interface method", r"^\t+NAME\("),
    ("TypeScript", "function", ""): ("function", r"^\s*(export )?(async )?function NAME\b"),
    ("TypeScript", "class", ""): ("class", r"^(export )?(abstract )?class NAME\b"),
    ("TypeScript", "interface", ""): ("class", r"^(export )?interface NAME\b"),
    ("TypeScript", "enum", ""): ("class", r"^(export )?(const )?enum NAME\b"),
    ("TypeScript", "method", "class"): ("method", r"^\s+.*\bNAME\("),
    ("TypeScript", "method", "interface"): ("interface method", r"^\s+NAME\??[(<]"),
    ("TypeScript", "property", "class"): ("field", r"^  (\w+ )*NAME[?!]?\s*[:=]"),
    ("TypeScript", "property", "interface"): ("field", r"^  (readonly )?NAME\??:"),
    ("TypeScript", "enumerator", "enum"): ("enum member", r"^\s+NAME\b"),
    ("TypeScript", "alias", ""): ("type", r"^(export )?(declare )?type NAME\b(?!,)"),
    ("TypeScript", "constant", ""): ("variable", VALUE),
    ("TypeScript", "variable", ""): ("variable", VALUE),
    ("JavaScript", "function", ""): ("function", r"^(export )?(async )?function NAME\b"),
    ("JavaScript", "function", "function"): ("nested function", r"^\s+function NAME\b"),
    ("JavaScript", "class", ""): ("class", r"^(class|function) NAME\b"),
    ("JavaScript", "method", "class"): ("assigned function", r"^\w+\.prototype\.NAME = "),
    ("JavaScript", "constant", ""): ("variable", VALUE),
    ("JavaScript", "variable", ""): ("variable", VALUE),
    ("Rust", "function", ""): ("function", r"^(pub\S* )?fn NAME\b"),
    ("Rust", "function", "module"): ("function", r"^\s+(pub\S* )?fn NAME\b"),
    ("Rust", "function", "function"): ("nested function", r"^\s+fn NAME\b"),
    ("Rust", "function", "method"): ("nested function", r"^\s+fn NAME\b"),
    ("Rust", "method", "implementation"): ("method", r"^\s+.*fn NAME\b"),
    ("Rust", "method", "interface"): ("interface method", r"^\s+.*fn NAME\b"),
    ("Rust", "struct", ""): ("class", r"^(pub\S* )?struct NAME\b"),
    ("Rust", "enum", ""): ("class", r"^(pub\S* )?enum NAME\b"),
    ("Rust", "interface", ""): ("class", r"^(pub\S* )?trait NAME\b"),
    ("Rust", "field", "struct"): ("field", r"^\s+(pub\S* )?NAME:"),
    ("Rust", "enumerator", "enum"): ("enum member", r"^\s+NAME\b"),
    ("Rust", "typedef", ""): ("type", r"^(pub\S* )?type NAME\b"),
    ("Rust", "variable", ""): ("constant", r"^(pub\S* )?(const|static) NAME\b"),
    ("Rust", "variable", "method"): ("constant", r"^\s+(const|static) NAME\b"),
    ("Rust", "macro", ""): ("macro", r"^macro_rules! NAME\b"),
    ("Rust", "macro", "module"): ("macro", r"^\s+macro_rules! NAME\b"),
    ("Java", "class", ""): ("class", r"\bclass NAME\b"),
    ("Java", "interface", ""): ("class", r"\binterface NAME\b"),
    ("Java", "method", "class"): ("method", r"^\t.*\bNAME\("),
    ("Java", "method", "interface"): ("interface method", r"^\t.*\bNAME\("),
    ("Java", "field", "class"): ("field", r"^\t.*\bNAME( =|;)"),
}
# What the line says besides: a narrower kind.
NARROWER: tuple[tuple[str, str, str], ...] = (
    ("variable", "type", r"TypeAlias|= (t\.)?(Union|Callable|TypeVar|NewType|tuple\[|dict\[)"),
    ("variable", "assigned function", r"^(export )?const .*= ?(async )?(\(|function\b).*"),
    ("variable", "constant", r"^(export )?(const )?_?[A-Z][A-Z\d_]+\b"),
    ("field", "constant", r"\bstatic final\b"),
    ("function", "nested function", r"^\s+(async )?function "),
    ("function", "assigned function", r"^\w+\.\w+ = (async )?function"),
)
ASSIGNED = r"^\w+(\.prototype)?\.NAME = (async )?function"
IMPORTS = ("unknown", "namespace", "alias", "packageName", "module", "package", "implementation")


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    kind: str
    path: str
    line: int
    is_beside: bool  # the source: a test, an example, a script


def read_tags(root: Path) -> Iterator[dict[str, str]]:
    files = git(root, "ls-files").splitlines()
    given = "\n".join(file for file in files if file.endswith(SUFFIXES))
    words = ("ctags", "--sort=no", "--output-format=json", "--fields=*", "-L", "-", "-f", "-")
    output = subprocess.run(
        words, cwd=root, input=given, check=True, capture_output=True, text=True
    )
    tags = map(json.loads, output.stdout.splitlines())
    return (tag for tag in tags if tag["_type"] == "tag")


def read_definitions(root: Path) -> tuple[list[Definition], Counter[str]]:
    """The definitions, and the number of tags in the source with each name."""
    lines: dict[str, list[str]] = {}
    bases: dict[tuple[str, str], str] = {}  # of each class of a file
    definitions: dict[tuple[str, str, int], Definition] = {}
    tagged: set[tuple[str, str, int]] = set()
    for tag in read_tags(root):
        name, path, number = tag["name"], tag["path"], int(tag["line"])
        scope = tag.get("scope") or ""
        if path not in lines:
            lines[path] = ["", *(root / path).read_text("utf-8", errors="replace").split("\n")]
        if any("DO NOT EDIT" in text for text in lines[path][:5]):
            continue  # an index leaves generated files out
        if tag["kind"] == "class":
            bases[path, name] = str(tag.get("inherits") or "")
        is_beside = BESIDE.search(path) is not None or scope.startswith("tests")
        if tag["kind"] not in IMPORTS and not is_beside:
            tagged.add((name, path, number))
        before, text = lines[path][number - 1 : number + 1]
        if kind := kind_of(tag, text, before, bases.get((path, scope), "")):
            definition = Definition(name, kind, path, number, is_beside)
            definitions.setdefault((name, path, number), definition)
    common = Counter(word for text in lines.values() for line in text for word in words_of(line))
    kept = [one for one in definitions.values() if not is_plain(one, common)]
    return kept, Counter(name for name, _, _ in tagged)


def words_of(line: str) -> set[str]:
    return set(re.findall(r"\w+", line))


def is_plain(definition: Definition, common: Counter[str]) -> bool:
    name = definition.name
    if name in WRONG:
        return True
    is_function = definition.kind in (*CHUNKED, "assigned function")
    return not is_function and name.islower() and common[name] > MOST_LINES


def kind_of(tag: dict[str, str], text: str, before: str, base: str) -> str:
    """The kind of a tag's name; empty where its line does not look like that."""
    name = tag["name"]
    if not re.fullmatch(r"[A-Za-z_]\w\w+", name) or name.startswith("__"):
        return ""
    if tag["language"] == "JavaScript" and re.search(ASSIGNED.replace("NAME", name), text):
        return "assigned function"
    key = (tag["language"], tag["kind"], tag.get("scopeKind") or "")
    kind, pattern = SHAPES.get(key, ("", r"$^"))
    if not re.search(pattern.replace("NAME", name), text):
        return ""
    if kind == "method" and name == (tag.get("scope") or "").rpartition(".")[2]:
        return "class"  # a constructor
    return narrow(kind, text, before, base)


def narrow(kind: str, text: str, before: str, base: str) -> str:
    if kind == "field" and "Enum" in base:
        return "enum member"
    if kind == "method" and ("abstractmethod" in before or "Protocol" in base):
        return "interface method"
    narrower = (new for old, new, more in NARROWER if old == kind and re.search(more, text))
    return next(narrower, kind)


def git(root: Path, *words: str) -> str:
    return subprocess.check_output(["git", *words], cwd=root, text=True).strip()


Item = TypeVar("Item")


def in_turn(lists: Iterable[Sequence[Item]]) -> list[Item]:
    return [item for turn in zip_longest(*lists) for item in turn if item is not None]


def draw(definitions: Sequence[Definition], counts: Counter[str]) -> list[dict[str, object]]:
    by_name: dict[str, list[Definition]] = defaultdict(list)
    for definition in definitions:
        by_name[definition.name].append(definition)
    groups: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for name, same in sorted(by_name.items()):
        source = [one for one in same if not one.is_beside]
        kinds = {one.kind for one in source or same}
        if len(kinds) == 1 and max(len(same), counts[name]) <= MOST_PLACES:
            groups[not source, kinds.pop()].append(name)
    chance = random.Random(SEED)  # noqa: S311 - not for secrets
    for names in groups.values():
        chance.shuffle(names)
    ordered = sorted(groups.items())
    tests = in_turn([names for (beside, _), names in ordered if beside])
    chunked, others = (
        in_turn([names for (beside, kind), names in ordered if not beside and wanted(kind)])
        for wanted in (CHUNKED.__contains__, lambda kind: kind not in CHUNKED)
    )
    rest = COUNT - TEST_COUNT - min(len(others), COUNT - TEST_COUNT - CHUNKED_COUNT)
    names = chunked[:rest] + others[: COUNT - TEST_COUNT - CHUNKED_COUNT] + tests[:TEST_COUNT]
    return [question(by_name[name]) for name in names]


def question(same: Sequence[Definition]) -> dict[str, object]:
    first = next((one for one in same if not one.is_beside), same[0])
    places = [{"path": one.path, "line": one.line} for one in same]
    return {"name": first.name, "kind": first.kind, "places": places}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", metavar="FOLDER", type=Path)
    options.add_argument("--only", action="append", default=[])
    given = options.parse_args()
    for file in sorted(QUESTIONS.glob("*.json")):
        if given.only and file.stem not in given.only:
            continue
        about = json.loads(file.read_text("utf-8"))
        root = given.folder / file.stem
        if git(root, "rev-parse", "HEAD") != about["commit"]:
            raise SystemExit(f"{root} is not at {about['commit']}: check that commit out")
        names = draw(*read_definitions(root))
        head = {key: about[key] for key in ("repository", "commit", "language")}
        text = json.dumps(head, indent=1)[:-2]
        rows = ",\n".join(f"  {json.dumps(name)}" for name in names)
        (QUESTIONS / "names" / file.name).write_text(
            f'{text},\n "names": [\n{rows}\n ]\n}}\n', "utf-8"
        )
        print(file.stem, len(names))


if __name__ == "__main__":
    main()
