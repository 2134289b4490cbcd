"""The pieces of words that the model has vectors for, by how often texts need them.

    python -m training.model.vocabulary PAIRS pieces.txt [--latin 30000] [--cjk 9500]

Letters come first, each with and without the mark of a piece that continues a word, so that no word
is unknown. Then the most frequent whole words, and the ends of words that cut the rest best. CJK
signs come one by one, the common ones of the national standards among them whether seen or not,
then strings of two to four signs. A kind of text counts by the power of its size that training
draws it by.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import Pool
from pathlib import Path
from string import ascii_lowercase, digits

from aurora.embeddings.aurora.tokens import split_words
from aurora.text import has_cjk
from training.corpus import pair_files, read_pairs

UNKNOWN = "[unknown]"
BALANCE = 0.7  # a kind of n pairs is drawn n ** BALANCE times as often as one of a single pair
WHOLE = 0.85  # of the Latin pieces are whole words: rare words are seldom asked for
ENDS = 9  # letters of the longest piece that continues a word
SHARED = 4  # words that end so, or have it inside: for fewer it is better to keep a word whole
RARE = 3  # a word seen less often tells nothing of how words are cut
LETTER = 20  # a letter of another alphabet is kept when it comes so often
CJK_SIGNS = 8  # of ten CJK pieces are single signs
HAN_LEAST = 6000
COHESION = 8.0  # times as often together as chance would put two parts of a string

GREEK = [chr(letter) for letter in range(0x3B1, 0x3CA)]
CYRILLIC = [chr(letter) for letter in range(0x430, 0x460)]
KANA = [chr(sign) for sign in (*range(0x3041, 0x3097), *range(0x30A1, 0x30FB), 0x30FC, 0x3005)]
_RUN = re.compile(r"\w+")  # counted before it is cut: texts repeat their words

Counts = Mapping[str, float]


def count_words(folder: Path) -> Counts:
    """Of all texts, by weights that give small kinds of text a say."""
    with Pool() as pool:
        by_file = pool.map(_count_file, pair_files(folder), chunksize=1)
    sizes: Counter[str] = Counter()
    runs: dict[str, Counter[str]] = {}
    for pairs, counted in by_file:
        sizes += pairs
        for kind, some in counted.items():
            runs.setdefault(kind, Counter()).update(some)
    words: dict[str, float] = defaultdict(float)
    for kind, of_kind in runs.items():
        scale = sizes[kind] ** (BALANCE - 1) * max(sizes.values()) ** (1 - BALANCE)
        for run, count in of_kind.items():
            for word in split_words(run):
                words[word] += count * scale
    return words


def _count_file(file: Path) -> tuple[Counter[str], dict[str, Counter[str]]]:
    sizes: Counter[str] = Counter()
    runs: dict[str, Counter[str]] = {}
    for pair in read_pairs(file):
        sizes[pair.kind] += 1
        counter = runs.setdefault(pair.kind, Counter())
        counter.update(_RUN.findall(pair.a))
        counter.update(_RUN.findall(pair.b))
    return sizes, runs


def latin_pieces(words: Counts, most: int) -> list[str]:
    """Letters, whole words and the ends of words, each part by how often it is needed."""
    seen = _count_parts(words, iter)
    often = sorted(letter for letter, count in seen.items() if count >= LETTER)
    letters = list(dict.fromkeys([*ascii_lowercase, *digits, *GREEK, *CYRILLIC, *often]))
    singles = [*letters, *(f"##{letter}" for letter in letters)]
    whole = [word for word in _by_count(words) if 1 < len(word) <= 20 and _is_plain(word)]
    known = dict.fromkeys([*singles, *whole[: int((most - len(singles)) * WHOLE)]])
    rest = {word: count for word, count in words.items() if word not in known and count >= RARE}
    words_with = _count_parts(dict.fromkeys(rest, 1.0), _word_ends)
    ends: Counts = {
        end: count
        for end, count in _count_parts(rest, _word_ends).items()
        if words_with[end] >= SHARED
    }
    few = most - len(known)
    for wanted in (8 * few, 3 * few, few):  # what is used, not what could be, in ever fewer
        candidates = [*known, *_by_count(ends)[:wanted]]
        ends = _count_parts(rest, _cutter(candidates, set(known)))
    return [*known, *_by_count(ends)[:few]]


def cjk_pieces(runs: Counts, most: int) -> list[str]:
    """Single signs, then strings that hold together."""
    strings = _count_parts(runs, lambda run: _slices(run, 0, 4))
    singles = {one: count for one, count in strings.items() if len(one) == 1}
    common = dict.fromkeys(_common_signs(), 0.0)
    ranked = _by_count(common | singles)
    han = [sign for sign in ranked if sign >= "\u3400" and not _is_hangul(sign)][:HAN_LEAST]
    signs = dict.fromkeys([*KANA, *han])
    signs |= dict.fromkeys([sign for sign in ranked if sign not in signs])
    kept = list(signs)[: most * CJK_SIGNS // 10]
    total = sum(singles.values())
    held = [
        string
        for string in _by_count(strings)
        if len(string) > 1 and strings[string] >= RARE and _holds(string, strings, total)
    ]
    few = most - len(kept)
    for wanted in (8 * few, 3 * few, few):
        used = _count_parts(runs, _cjk_cutter({*kept, *held[:wanted]}))
        held = [string for string in _by_count(used) if len(string) > 1]
    return [*kept, *held[:few]]


def _holds(string: str, counts: Counts, total: float) -> bool:
    """Whether its parts meet more often than chance would have it, wherever it is split."""
    return all(
        counts[string] * total > COHESION * counts[string[:at]] * counts[string[at:]]
        for at in range(1, len(string))
    )


def _common_signs() -> Iterator[str]:
    """First levels of GB 2312, Big5 and JIS X 0208, and the syllables of KS X 1001."""
    for codec, first, last in (
        ("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("euc_jp", 0xB0, 0xCF), ("euc_kr", 0xB0, 0xC8)
    ):  # fmt: skip
        for row in range(first, last + 1):
            for column in (*range(0x40, 0x7F), *range(0xA1, 0xFF)):
                sign = bytes((row, column)).decode(codec, "ignore")
                if len(sign) == 1 and has_cjk(sign):
                    yield sign


def _is_hangul(sign: str) -> bool:
    return "\uac00" <= sign <= "\ud7a3"


def _is_plain(word: str) -> bool:
    """Numbers longer than years are no words."""
    return not word[0].isdigit() or len(word) <= 4


def _word_ends(word: str) -> Iterator[str]:
    longest = 3 if word[0].isdigit() else ENDS
    return (f"##{part}" for part in _slices(word, 1, longest) if len(part) > 1)


def _slices(text: str, first: int, longest: int) -> Iterator[str]:
    for start in range(first, len(text)):
        for end in range(start + 1, min(len(text), start + longest) + 1):
            yield text[start:end]


def _cutter(candidates: Iterable[str], known: set[str]) -> Callable[[str], Iterator[str]]:
    """Cuts words as the model will; what it gives are the pieces that are not known yet."""
    pieces = set(candidates)

    def cut(word: str) -> Iterator[str]:
        mark = ""
        while word:
            length = next(
                (n for n in range(min(len(word), 20), 0, -1) if mark + word[:n] in pieces), 0
            )
            if not length:
                return
            if (piece := mark + word[:length]) not in known:
                yield piece
            word, mark = word[length:], "##"

    return cut


def _cjk_cutter(pieces: set[str]) -> Callable[[str], Iterator[str]]:
    def cut(run: str) -> Iterator[str]:
        at = 0
        while at < len(run):
            length = next((n for n in (4, 3, 2) if run[at : at + n] in pieces), 1)
            yield run[at : at + length]
            at += length

    return cut


def _count_parts(words: Counts, parts: Callable[[str], Iterable[str]]) -> Counts:
    counts: dict[str, float] = {}
    for word, count in words.items():
        for part in parts(word):
            counts[part] = counts.get(part, 0.0) + count
    return counts


def _by_count(counts: Counts) -> Sequence[str]:
    """The most frequent first; equal ones by the alphabet, so that every run gives the same."""
    return sorted(counts, key=lambda one: (-counts[one], one))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path, help="a folder with pairs-*.jsonl.gz")
    parser.add_argument("out", type=Path, help="pieces.txt")
    parser.add_argument("--latin", type=int, default=30_000)
    parser.add_argument("--cjk", type=int, default=9_500)
    options = parser.parse_args()
    words = count_words(options.pairs)
    spaced = {word[:100]: count for word, count in words.items() if not has_cjk(word)}
    runs = {word: count for word, count in words.items() if has_cjk(word)}
    latin, cjk = latin_pieces(spaced, options.latin), cjk_pieces(runs, options.cjk)
    pieces = [UNKNOWN, *latin, *cjk]
    options.out.write_text("\n".join(pieces) + "\n", encoding="utf-8")
    print(f"{len(words):,} words, {len(pieces):,} pieces in {options.out}")


if __name__ == "__main__":
    main()
