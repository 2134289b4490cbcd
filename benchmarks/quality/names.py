"""How often a name of any kind finds its definition, over eight repositories.

    python benchmarks/quality/names.py FOLDER [--only gin] [--misses] [--questions FOLDER]
        [--memories FOLDER]

FOLDER holds a git repository for each file of benchmarks/questions/names, under the file's name.
Each is cloned and indexed as in answers.py.
A row is the definition when its lines contain the line of one of the name's places: the lines of
the symbol that the row names, if it names one, else of its chunk.

The table has a row for each kind of name, one for what is a chunk (functions, methods, classes)
and one for all other names: the share with the definition in the first and in the first five
rows, with the name in the text of the first row, and with a first row of that very name. A run of
all repositories writes benchmarks/results/names-<commit>.json. questions/draw_names.py draws the
names.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aurora import Memory, SearchResult

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from quality.answers import folder_of_memories, open_memory

QUESTIONS = Path(__file__).resolve().parents[1] / "questions" / "names"
CHUNKED = ("function", "method", "class")
LIMIT = 5
Place = tuple[str, int]  # path and line


@dataclass(frozen=True, slots=True)
class Asked:
    """A name, its kind, and where its definition came."""

    repository: str
    kind: str
    name: str
    place: int  # from 1; 0: not among the first five
    is_in_first: bool  # the first row's text or name has the name
    names_first: bool  # the first row's name is the name
    first: str  # the first row: path, line and name


def is_at(result: SearchResult, place: Place) -> bool:
    path, line = place
    lines = result.lines
    return result.chunk.path == path and lines is not None and lines.start <= line <= lines.end


def ask(memory: Memory, repository: str, kind: str, name: str, places: Sequence[Place]) -> Asked:
    rows = memory.search(name, limit=LIMIT).results
    right = (n for n, row in enumerate(rows, 1) if any(is_at(row, place) for place in places))
    place = next(right, 0)
    if not rows:
        return Asked(repository, kind, name, place, False, False, "nothing")
    row = rows[0]
    first = f"{row.chunk.path}:{row.lines.start if row.lines else 0} {row.name} {row.score:.3f}"
    is_in_first = name in row.content or name in (row.name, row.chunk.name)
    return Asked(repository, kind, name, place, is_in_first, row.name == name, first)


def ask_all(root: Path, given: dict, folder: Path) -> Iterator[Asked]:
    with open_memory(root, given, folder) as memory:
        for one in given["names"]:
            places = [(place["path"], place["line"]) for place in one["places"]]
            yield ask(memory, given["repository"], one["kind"], one["name"], places)


def summary(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """The measures of each kind, and of chunks and others as a whole."""
    groups = {kind: [one for one in asked if one.kind == kind] for kind in kinds(asked)}
    groups["chunks"] = [one for one in asked if one.kind in CHUNKED]
    groups["others"] = [one for one in asked if one.kind not in CHUNKED]
    groups["all"] = list(asked)
    return {kind: measures(group) for kind, group in groups.items() if group}


def kinds(asked: Sequence[Asked]) -> list[str]:
    return sorted({one.kind for one in asked}, key=lambda kind: (kind not in CHUNKED, kind))


def measures(asked: Sequence[Asked]) -> dict[str, float]:
    sums = {
        "first": sum(one.place == 1 for one in asked),
        "in five": sum(one.place > 0 for one in asked),
        "in text": sum(one.is_in_first for one in asked),
        "named": sum(one.names_first for one in asked),
    }
    return {"names": len(asked)} | {key: round(n / len(asked), 4) for key, n in sums.items()}


def show(title: str, asked: Sequence[Asked]) -> None:
    print(f"\n{title:18}" + "".join(f"{head:>9}" for head in ("names", *list(measures(asked))[1:])))
    for kind, numbers in summary(asked).items():
        count, *shares = numbers.values()
        print(f"{kind:18}{count:9}" + "".join(f"{share:9.1%}" for share in shares))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", metavar="FOLDER", type=Path)
    options.add_argument("--only", action="append", default=[])
    options.add_argument("--questions", type=Path, default=QUESTIONS)
    options.add_argument("--memories", type=Path, help="keep the indexed clones here")
    options.add_argument("--misses", action="store_true", help="list what was not first")
    given = options.parse_args()
    asked: list[Asked] = []
    with folder_of_memories(given.memories) as folder:
        for file in sorted(given.questions.glob("*.json")):
            if given.only and file.stem not in given.only:
                continue
            questions = json.loads(file.read_text("utf-8"))
            answers = list(ask_all(given.folder / file.stem, questions, folder))
            show(file.stem, answers)
            asked += answers
    show("all repositories", asked)
    for one in asked if given.misses else ():
        if one.place != 1 or not one.is_in_first:
            print(f"{one.repository:26}{one.kind:18}{one.place or '-':>2}  {one.name}: {one.first}")
    if not given.only and given.questions == QUESTIONS:
        by_repository = {
            name: summary([one for one in asked if one.repository == name])
            for name in dict.fromkeys(one.repository for one in asked)
        }
        record.save("names", {"all": summary(asked), "repositories": by_repository})


if __name__ == "__main__":
    main()
