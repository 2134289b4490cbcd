"""Makes training pairs from fetched packages: one file a kind, so many pairs a package at most.

    python -m training.readers.pairs ARCHIVES OUTPUT [--list packages.tsv]

The readers know their languages; this file opens the archives, lets every file speak and keeps a
fair share of each package and of each family of packages.
"""

import argparse
import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import chain, zip_longest
from pathlib import Path

from training.corpus import Pair
from training.readers.brace_pairs import LANGUAGES, brace_pairs
from training.readers.changelog_pairs import CHANGELOG, changelog_pairs
from training.readers.markdown_pairs import document_pairs
from training.readers.python_pairs import definitions, python_pairs
from training.readers.texts import lot
from training.sources.archives import Member, read_texts
from training.sources.fetch import LIST, Package, find_archive, read_list

MOST_PER_PACKAGE = 300
MOST_OF_KIND = {"code": 160, "prose": 160, "gloss": 60}
MOST_PER_FAMILY = 2_000  # generated clients come in hundreds of packages that read alike
MOST_PER_FILE = 60
MOST_FILES = 60  # of code, and as many documents
CEREMONY = re.compile(
    r"(^|/)(code.?of.?conduct|contribut|licen[sc]e|authors|security|maintain|notice)[^/]*$",
    re.IGNORECASE,
)
DOCUMENTS = frozenset((".md", ".rst", ".markdown"))
DOCUMENT_PLACE = re.compile(r"(^|/)(docs?/|readme)", re.IGNORECASE)
CODE = frozenset((".py", *LANGUAGES))
SUFFIXES = frozenset((".txt", *CODE, *DOCUMENTS))  # .txt for change logs and documents
KINDS = tuple(MOST_OF_KIND)


def package_pairs(archive: Path, package: str, source: str) -> list[Pair]:
    """The pairs of one package, files and kinds taken in turn until there are enough."""
    by_kind: dict[str, list[list[Pair]]] = {kind: [] for kind in KINDS}
    code: dict[str, str] = {}
    members = list(read_texts(archive, SUFFIXES))
    for member in _chosen(members):
        read = list(_file_pairs(member, source, package, code))
        for kind in KINDS:
            by_kind[kind].append(
                _drawn((pair for pair in read if pair.kind == kind), MOST_PER_FILE)
            )
    changelogs = (member.text for member in members if CHANGELOG.search(member.path))
    by_kind["code"].append(
        list(chain(*(changelog_pairs(text, code, source) for text in changelogs)))
    )
    shares = [_distinct(in_turn(files))[: MOST_OF_KIND[kind]] for kind, files in by_kind.items()]
    return list(in_turn(shares))[:MOST_PER_PACKAGE]


def _chosen(members: list[Member]) -> list[Member]:
    """So many files of code and so many documents, drawn from the whole package."""
    members = [
        member
        for member in members
        if not (CHANGELOG.search(member.path) or CEREMONY.search(member.path))
    ]
    documents = [member for member in members if is_document(member.path)]
    code = [member for member in members if Path(member.path).suffix.lower() in CODE]
    drawn = (
        sorted(files, key=lambda member: lot(member.path))[:MOST_FILES]
        for files in (code, documents)
    )
    return list(chain(*drawn))


def is_document(path: str) -> bool:
    """Markdown, reStructuredText, and .txt where documents lie."""
    suffix = Path(path).suffix.lower()
    return suffix in DOCUMENTS or (suffix == ".txt" and DOCUMENT_PLACE.search(path) is not None)


def _file_pairs(member: Member, source: str, package: str, code: dict[str, str]) -> Iterator[Pair]:
    """What one file teaches; the definitions it holds are put into `code`."""
    suffix = Path(member.path).suffix.lower()
    if suffix == ".py":
        found = list(definitions(member.text))
        code.update(
            (definition.name, f"{definition.signature}\n{definition.body}") for definition in found
        )
        yield from python_pairs(member.text, found, source)
    elif suffix in LANGUAGES:
        yield from brace_pairs(member.text, source, suffix)
    else:
        yield from document_pairs(member.text, source, package)


def in_turn(lists: Iterable[list[Pair]]) -> Iterator[Pair]:
    """The first of every list, then the second of every list, …"""
    for row in zip_longest(*lists):
        yield from (pair for pair in row if pair is not None)


def _drawn(pairs: Iterable[Pair], most: int) -> list[Pair]:
    return sorted(pairs, key=lambda pair: lot(pair.a, pair.b))[:most]


def _distinct(pairs: Iterable[Pair]) -> list[Pair]:
    seen: set[str] = set()
    kept = []
    for pair in pairs:
        if pair.a.lower() not in seen:
            seen.add(pair.a.lower())
            kept.append(pair)
    return kept


def family(package: Package) -> str:
    """`azure-mgmt-network` and `azure-mgmt-sql` are one family; so is all of `@aws-sdk/`."""
    name = package.name
    if package.registry == "debian":
        return name
    if "/" in name:
        return name.partition("/")[0]
    parts = re.split(r"[-_.]", name)
    return "-".join(parts[:2]) if len(parts) > 2 else parts[0]


def read_package(job: tuple[Path, Package]) -> tuple[Package, list[Pair]]:
    archive, package = job
    return package, package_pairs(archive, package.name, f"{package.name}-{package.version}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    jobs = [
        (path, package)
        for package in read_list(options.list)
        if (path := find_archive(options.archives, package)) is not None
    ]
    options.output.mkdir(parents=True, exist_ok=True)
    counted: Counter[str] = Counter()
    per_family: defaultdict[str, int] = defaultdict(int)
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(options.processes))
        files = {
            kind: stack.enter_context(
                gzip.open(
                    options.output / f"{kind}.jsonl.gz", "wt", encoding="utf-8", compresslevel=4
                )
            )
            for kind in KINDS
        }
        for place, (package, pairs) in enumerate(pool.map(read_package, jobs, chunksize=8)):
            if place % 200 == 0:
                print(f"{place} of {len(jobs)} packages: {dict(counted)}", flush=True)
            room = MOST_PER_FAMILY - per_family[family(package)]
            for pair in pairs[: max(room, 0)]:
                files[pair.kind].write(pair.line)
                counted[pair.kind] += 1
            per_family[family(package)] += len(pairs)
    print(f"{len(jobs)} packages: {dict(counted)}")


if __name__ == "__main__":
    main()
