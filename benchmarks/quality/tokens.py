"""What an agent gets for its tokens: the right place, and how many of its lines.

    python benchmarks/quality/tokens.py FOLDER [--questions FILE …] [--memories FOLDER] [--misses]

FOLDER holds a git repository for each file of questions, under the file's name; they are cloned and
indexed as in answers.py. Each question is asked with several budgets of tokens:

* `search_code` and `aurora_search`: the tools of the MCP server, called by a client with the
  question and `max_tokens`, everything else by default; `whole`: with `full_text`, if there is one;
* `ranking, semble's form`: the ranking of `aurora_search` as JSON in the form of semble's tool;
* `rg, whole files`: ripgrep counts the lines that have a word of the question, then the files with
  the most lines are read from their beginning, until the budget is used;
* `rg, around matches`: ten lines before and after a match, first where the most different words of
  the question are near. Both are left out without `rg`.

An answer is judged as it is sent: the structured content as compact JSON, which Claude Code and
Codex show to the model, or the text where a tool gives only text. The form of an answer does not
matter, if a path comes before the lines of its file. Of the places that answer a question, the best
counts:

* located: the answer names the file and lines that overlap the place;
* lines: the share of the place's lines whose text is in the answer, below the path of their file.
  Lines without a letter or digit do not count. Of a place with more lines, 60 are enough.

`tokens` are counted by o200k if the package rs-bpe is installed, and `estimate` by Aurora, which
fills the budgets by it: `filled` is the mean share. `most` is the largest share by `tokens`. A run
of the default questions writes benchmarks/results/tokens-<commit>.json.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import repeat
from pathlib import Path
from statistics import fmean

from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.types import CallToolResult, TextContent

from aurora import Memory
from aurora.mcp.server import create_server
from aurora.serving.pool import MemoryPool
from aurora.text import count_tokens, is_stop_word, weigh_tokens

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from quality.answers import QUESTIONS, Place, folder_of_memories, open_memory

try:
    from rs_bpe.bpe import openai
except ImportError:
    tokenizer = None
else:
    tokenizer = openai.o200k_base()

FILES = [QUESTIONS / name for name in ("held-out/flask.json", "requests.json", "fastapi.json")]
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
ENOUGH = 60  # lines of a place
LISTED = 10  # files in the answer of ripgrep
AROUND = 10  # lines before and after a match
ROWS = 50  # more than fill the largest budget
TOOLS = ("search_code", "aurora_search")
WHOLE = "full_text"  # an argument that a tool may have: whole chunks instead of snippets
Way = Callable[[str, int], str]  # from a question and a budget to what is sent

_PATH = re.compile(r"[\w@+][\w.@+/-]*|\.[\w@+][\w.@+/-]*")
_MARKS = re.compile(r"(?:[#>*`\s]|- |\d+[.)]\s|aurora://chunk/)*")  # before a path in a head line
_FROM, _TO = r"(?P<start>\d+)", r"(?:-L?(?P<end>\d+))?\b"
_RANGES = [  # after a path
    re.compile(rf"^[:#]L?{_FROM}{_TO}"),
    re.compile(rf"\blines? {_FROM}{_TO}"),
    re.compile(rf"(?<![\w.-]){_FROM}-(?P<end>\d+)\b"),
]
_NUMBERED = re.compile(rf"\s*{_FROM}{_TO}(?:[:|→-]|(?=\s))(?P<text>.*)")  # a line of a file


@dataclass(frozen=True, slots=True)
class Judged:
    """How good the answer to a question is, and what it costs."""

    repository: str
    way: str
    budget: int
    question: str
    located: bool
    lines: float
    tokens: int
    estimate: int


# --- Reading an answer of any form ---


class Reading:
    """The ranges of lines that an answer names in each file, and the text that it gives of it."""

    def __init__(self, sent: str, paths: Container[str]) -> None:
        self._ranges: dict[str, list[range]] = {}
        self._texts: dict[str, set[str]] = {}
        path = ""
        for line in _plain(sent):
            if head := _head(line, paths):
                path, lines = head
                self._add(path, lines, line)
            elif path and (numbered := _NUMBERED.fullmatch(line)):
                self._add(path, _range(numbered), line, numbered["text"])
            elif path:
                self._add(path, _first_range(line) if line.startswith("lines ") else None, line)

    def _add(self, path: str, lines: range | None, *texts: str) -> None:
        self._texts.setdefault(path, set()).update(map(_squeezed, texts))
        if lines:
            self._ranges.setdefault(path, []).append(lines)

    def locates(self, place: Place) -> bool:
        ranges = self._ranges.get(place.path, ())
        return any(lines.start <= place.end and place.start < lines.stop for lines in ranges)

    def share(self, path: str, lines: Sequence[str]) -> float:
        texts = self._texts.get(path, set())
        return min(sum(line in texts for line in lines) / min(len(lines), ENOUGH), 1.0)


def _plain(sent: str) -> Iterator[str]:
    """The lines of an answer; of JSON those of its strings, and a line for a range of lines."""
    try:
        value = json.loads(sent)
    except ValueError:
        yield from sent.splitlines()
    else:
        yield from _strings(value)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("end_line", "line"):
                yield f"lines {value.get('start_line', item)}-{item}"
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _head(line: str, paths: Container[str]) -> tuple[str, range | None] | None:
    """The path that a line begins with, or that a range of lines follows, and that range."""
    for match in _PATH.finditer(line):
        if match[0] in paths:
            lines = _first_range(line[match.end() :])
            if lines or _MARKS.fullmatch(line[: match.start()]):
                return match[0], lines
    return None


def _first_range(text: str) -> range | None:
    found = (pattern.search(text) for pattern in _RANGES)
    return next((_range(match) for match in found if match), None)


def _range(match: re.Match[str]) -> range:
    return range(int(match["start"]), int(match["end"] or match["start"]) + 1)


def _squeezed(line: str) -> str:
    return " ".join(line.split())


# --- The ways to ask ---


@contextmanager
def tools(memory: Memory, environ: Mapping[str, str]) -> Iterator[dict[str, Way]]:
    """The tools of a server in this process, by name."""
    assert memory.root
    pool = MemoryPool({memory.root.name: memory.root}, environ, read_only=True)
    client = Client(create_server(pool, one_client=False))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):

        def ask(tool: str, options: Mapping[str, object], question: str, budget: int) -> str:
            arguments = {"query": question, "max_tokens": budget, **options}
            answer = portal.call(client.call_tool, tool, arguments)
            assert isinstance(answer, CallToolResult)
            assert not answer.is_error, answer.content
            if answer.structured_content is not None:
                return as_json(answer.structured_content)
            return "\n".join(part.text for part in answer.content if isinstance(part, TextContent))

        ways = {tool: partial(ask, tool, {}) for tool in TOOLS}
        for tool in portal.call(client.list_tools).tools:
            if tool.name in TOOLS and WHOLE in tool.input_schema["properties"]:
                ways[f"{tool.name}, whole"] = partial(ask, tool.name, {WHOLE: True})
        yield ways


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def in_form_of_semble(memory: Memory, question: str, budget: int) -> str:
    """Chunks with path and lines, as many as fit, in the order of the ranking; the last is cut."""
    answer: dict[str, object] = {"query": question, "results": (rows := [])}
    for result in memory.search(question, limit=ROWS).results:
        if result.lines is None:
            continue
        start, end = result.lines
        place = {"file_path": result.chunk.path, "start_line": start, "end_line": end}
        lines = result.content.splitlines()
        rows.append({**place, "score": round(result.score, 4), "content": result.content})
        while lines and count_tokens(as_json(answer)) > budget:
            lines.pop()
            rows[-1]["content"] = "\n".join(lines)
        if not lines:
            rows.pop()
        if "\n".join(lines) != "\n".join(result.content.splitlines()):
            break
    return as_json(answer)


def whole_files(root: Path, question: str, budget: int) -> str:
    """The files with the most lines that have a word of the question, from their beginning."""
    counts = Counter(path for path, _, _ in matches(root, question)).most_common()
    listed = [f"{path}:{count} lines" for path, count in counts[:LISTED]]
    return fill(listed, (line for path, _ in counts for line in numbered(root, path)), budget)


def around_matches(root: Path, question: str, budget: int) -> str:
    """The lines around the matches that have the most words of the question near them."""
    near = nearest(root, question)
    return fill([], (line for path, at in near for line in numbered(root, path, at)), budget)


@cache
def nearest(root: Path, question: str) -> list[tuple[str, int]]:
    """Path and line of matches, the one with the most different words around it first. A match
    among the lines around a better one is left out."""
    words: dict[str, dict[int, frozenset[str]]] = {}
    for path, number, found in matches(root, question):
        words.setdefault(path, {})[number] = found
    counts = {
        (path, number): len(frozenset[str]().union(*map(lines.get, around(number), repeat(()))))
        for path, lines in words.items()
        for number in lines
    }
    seen: set[tuple[str, int]] = set()
    chosen = []
    for path, number in sorted(counts, key=lambda place: -counts[place]):
        if (path, number) not in seen:
            chosen.append((path, number))
            seen.update((path, near) for near in around(number))
    return chosen


@cache
def matches(root: Path, question: str) -> list[tuple[str, int, frozenset[str]]]:
    """Path, number and words of the lines that have a word of the question."""
    words = [word for word in re.findall(r"\w+", question.lower()) if not is_stop_word(word)]
    words = words or question.lower().split()
    command = ["rg", "--line-number", "--no-heading", "--ignore-case", "--fixed-strings"]
    command += ["--sort=path", *(part for word in words for part in ("-e", word)), "."]
    found = subprocess.run(command, cwd=root, capture_output=True, check=False).stdout
    rows = (line.split(":", 2) for line in found.decode(errors="replace").splitlines())
    return [
        (path.removeprefix("./"), int(number), frozenset(w for w in words if w in text.lower()))
        for path, number, text in rows
    ]


def around(number: int) -> range:
    return range(number - AROUND, number + AROUND + 1)


def numbered(root: Path, path: str, at: int | None = None) -> Iterator[str]:
    """The path and the numbered lines of a file, or of those around a line."""
    yield path
    for number, line in enumerate(read_lines(root, path), 1):
        if at is None or number in around(at):
            yield f"{number}\t{line}"


def fill(lines: list[str], more: Iterable[str], budget: int) -> str:
    """The lines, and as many more as fit."""
    size = sum(weigh_tokens(f"{line}\n") for line in lines)
    for line in more:
        size += weigh_tokens(f"{line}\n")
        if size > budget:
            break
        lines.append(line)
    return "\n".join(lines)


@cache
def read_lines(root: Path, path: str) -> list[str]:
    return (root / path).read_text(encoding="utf-8", errors="replace").splitlines()


# --- Judging ---


def measure(memory: Memory, given: dict, environ: Mapping[str, str]) -> Iterator[Judged]:
    root, name = memory.root, given["repository"]
    assert root
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=root, encoding="utf-8")
    paths = frozenset(listed.split("\0"))
    with tools(memory, environ) as ways:
        ways["ranking, semble's form"] = partial(in_form_of_semble, memory)
        if shutil.which("rg"):
            ways["rg, around matches"] = partial(around_matches, root)
            ways["rg, whole files"] = partial(whole_files, root)
        for question in given["questions"]:
            places = [Place(**place) for place in question["answers"]]
            for way, ask in ways.items():
                for budget in BUDGETS:
                    sent = ask(question["text"], budget)
                    located, lines = judge(Reading(sent, paths), root, places)
                    sizes = (real_tokens(sent), count_tokens(sent))
                    yield Judged(name, way, budget, question["text"], located, lines, *sizes)


def judge(reading: Reading, root: Path, places: Sequence[Place]) -> tuple[bool, float]:
    shares = [reading.share(place.path, telling_lines(root, place)) for place in places]
    return any(map(reading.locates, places)), max(shares)


def telling_lines(root: Path, place: Place) -> list[str]:
    """The lines of a place that have a letter or a digit."""
    lines = read_lines(root, place.path)[place.start - 1 : place.end]
    return [_squeezed(line) for line in lines if re.search(r"\w", line)]


def real_tokens(text: str) -> int:
    return len(tokenizer.encode(text)) if tokenizer else count_tokens(text)


def summary(judged: Sequence[Judged]) -> dict[str, dict[str, dict[str, float]]]:
    """Way → budget → the means over the questions."""
    groups: dict[str, dict[str, list[Judged]]] = {}
    for one in judged:
        groups.setdefault(one.way, {}).setdefault(str(one.budget), []).append(one)
    return {
        way: {budget: means(group) for budget, group in budgets.items()}
        for way, budgets in groups.items()
    }


def means(group: Sequence[Judged]) -> dict[str, float]:
    return {
        "located": round(fmean(one.located for one in group), 3),
        "lines": round(fmean(one.lines for one in group), 3),
        "tokens": round(fmean(one.tokens for one in group)),
        "estimate": round(fmean(one.estimate for one in group)),
        "filled": round(fmean(one.estimate / one.budget for one in group), 3),
        "most": round(max(one.tokens / one.budget for one in group), 3),
    }


def show(title: str, judged: Sequence[Judged]) -> None:
    print(f"\n{title}\n{'':26}{'budget':>8}", *(f"{head:>9}" for head in means(judged)))
    for way, budgets in summary(judged).items():
        for budget, numbers in budgets.items():
            print(f"{way:26}{budget:>8}", *(f"{number:9}" for number in numbers.values()))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", metavar="FOLDER", type=Path)
    options.add_argument("--questions", type=Path, nargs="+", default=FILES, metavar="FILE")
    options.add_argument("--memories", type=Path, help="keep the indexed clones here")
    options.add_argument("--misses", action="store_true", help="list what is not located")
    given = options.parse_args()
    judged: list[Judged] = []
    with folder_of_memories(given.memories) as folder:
        environ = {"AURORA_HOME": str((folder / "home").absolute())}
        for file in given.questions:
            questions = json.loads(file.read_text("utf-8"))
            with open_memory(given.folder / file.stem, questions, folder) as memory:
                answers = list(measure(memory, questions, environ))
            show(questions["repository"], answers)
            judged += answers
    show("all", judged)
    for one in judged if given.misses else ():
        if not one.located:
            print(f"{one.repository:20}{one.way:26}{one.budget:>6}  {one.question}")
    if given.questions == FILES:
        names = dict.fromkeys(one.repository for one in judged)
        by_repository = {
            name: summary([one for one in judged if one.repository == name]) for name in names
        }
        counted = {"tokens": "o200k" if tokenizer else "estimate"}
        record.save("tokens", {**counted, "all": summary(judged), "repositories": by_repository})


if __name__ == "__main__":
    main()
