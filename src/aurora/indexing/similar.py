"""Documents and lessons that are about the same matter as a new one, and those that it contradicts.

Near entries are found by their vectors, or without an embedder by their words. Whether two of them
contradict each other is guessed from their words alone: another polarity, number or choice. A guess
is worth a question to the writer, so that it may be wrong now and then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from heapq import nlargest
from math import log
from typing import TYPE_CHECKING

from aurora.indexing.documents import SimilarEntry
from aurora.indexing.replacing import entry_id, is_entry, piece_ids, replaced_ids
from aurora.packing import unpack_vector
from aurora.parsers.lessons import LESSONS
from aurora.stores.base import Ranking, Store
from aurora.text import is_function_word, stem, tokenize
from aurora.types import LEAST_SUCCESS, Chunk, Criteria, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHOWN = 5  # entries
_MOST_ENTRIES = 5000  # of each kind that are compared
_MOST_PIECES = 8  # of a long document
_LOOKED_AT = 20  # of the nearest, whose texts are read
_RANKED = 100  # of the nearest chunks that a database names
_LONGEST = 2000  # characters of a text that are compared
_BEGINNING = 200  # characters that are shown
# Cosines of Aurora's own model: unrelated texts of one project reach 0.6, and another wording of
# the same matter 0.64 to 0.9 (benchmarks/quality/decisions.py).
_SIMILAR = 0.62
_CERTAIN = 0.70  # a choice between names that no list has, or an opposite success
_SHARED_WORDS = 0.4  # without an embedder: the weight of the words that both have


def find_similar(store: Store, id_: str) -> tuple[SimilarEntry, ...]:
    """The entries nearest to one that was just written, those that it may contradict first."""
    own = store.chunks.get_chunks(piece_ids(store.chunks.get_chunks([id_])))[:_MOST_PIECES]
    if not own:
        return ()
    known = {id_, *replaced_ids(own[0])}
    success = _success(store, own[0])
    entries: dict[str, SimilarEntry] = {}
    for chunk, closeness in _find_near(store, own):
        first = entry_id(chunk)
        if first in known or first in entries:
            continue
        may_contradict = contradict(own[0].content, chunk.content, closeness) or (
            closeness >= _CERTAIN and _is_opposite(success, _success(store, chunk))
        )
        title = str(chunk.metadata.get("title", chunk.name))
        text = " ".join(chunk.content.split())[:_BEGINNING]
        entries[first] = SimilarEntry(first, title, text, may_contradict)
    return tuple(sorted(entries.values(), key=lambda each: not each.may_contradict)[:_SHOWN])


def _find_near(store: Store, own: Sequence[Chunk]) -> list[tuple[Chunk, float]]:
    """The nearest entries with their closeness, nearest first; the own ones are among them."""
    vectors = store.vectors.get_embeddings([piece.id for piece in own])
    if not vectors:
        return _by_words(store, own)
    if store.ranking is not None:
        closeness = _ask_ranking(store, store.ranking, vectors)
    else:
        closeness = _compare(store.vectors.get_embeddings(list(_list_ids(store))), vectors)
    near = [id_ for id_ in closeness if closeness[id_] >= _SIMILAR]
    best = nlargest(_LOOKED_AT + len(own), near, key=closeness.__getitem__)
    return [(chunk, closeness[chunk.id]) for chunk in _read(store, best)]


def _list_ids(store: Store) -> Iterator[str]:
    """The ids of all entries. They tell lessons and documents from code without reading rows."""
    for prefix in ("doc-", "reasoning-"):
        yield from store.chunks.find_ids_from(prefix, limit=_MOST_ENTRIES)
    yield from store.chunks.find_below(LESSONS)[:_MOST_ENTRIES]


def _ask_ranking(store: Store, ranking: Ranking, vectors: Mapping[str, bytes]) -> dict[str, float]:
    """The largest cosines as the database compares them, without reading all vectors.

    Notes of files and logs take part, too, and are left out later.
    """
    rows = store.search.find_rows(Criteria(kinds=(Kind.KNOWLEDGE, Kind.REASONING)))
    closeness: dict[int, float] = {}
    for vector in vectors.values():
        near = ranking.rank(None, unpack_vector(vector), pool=_RANKED, among=rows)
        for row in near.by_meaning:
            closeness[row] = max(closeness.get(row, 0.0), near.scored[row].cosine or 0.0)
    chunks = store.chunks.get_rows(list(closeness))
    return {chunk.id: closeness[row] for row, chunk in chunks.items()}


def _compare(others: Mapping[str, bytes], own: Mapping[str, bytes]) -> dict[str, float]:
    """The largest cosine of each with one of the own vectors."""
    if not others:
        return {}
    import numpy as np  # noqa: PLC0415 - forgetting and exporting need none

    def matrix(vectors: Mapping[str, bytes]) -> NDArray[np.float32]:
        flat = np.frombuffer(b"".join(vectors.values()), "<f2").astype(np.float32)
        return flat.reshape(len(vectors), -1)

    cosines = (matrix(others) @ matrix(own).T).max(axis=1)
    return dict(zip(others, cosines.tolist(), strict=True))


def _by_words(store: Store, own: Sequence[Chunk]) -> list[tuple[Chunk, float]]:
    """The entries that share most of the rare words, as if that share were a cosine."""
    chunks = _read(store, list(_list_ids(store)))
    words = [_content_words(chunk.content) for chunk in chunks]
    count = Counter(word for each in words for word in each)
    weight = {word: log(1 + len(chunks) / number) for word, number in count.items()}
    rare = log(1 + len(chunks))
    wanted = _content_words(own[0].content)

    def weigh(some: Set[str]) -> float:
        return sum(weight.get(word, rare) for word in some)

    shares = [weigh(wanted & each) / max(min(weigh(wanted), weigh(each)), rare) for each in words]
    near = sorted(zip(chunks, shares, strict=True), key=lambda pair: -pair[1])[:_LOOKED_AT]
    return [(chunk, max(share, _SIMILAR)) for chunk, share in near if share >= _SHARED_WORDS]


def _read(store: Store, ids: Sequence[str]) -> list[Chunk]:
    chunks = store.chunks.get_chunks(ids)
    return [chunk for chunk in chunks if is_entry(chunk) and not chunk.is_replaced]


def _success(store: Store, chunk: Chunk) -> float | None:
    reasoning = store.chunks.get_reasoning(chunk.id)
    return reasoning.success_score if reasoning else None


def _is_opposite(one: float | None, other: float | None) -> bool:
    return None not in (one, other) and (one >= LEAST_SUCCESS) != (other >= LEAST_SUCCESS)  # type: ignore[operator]


# Contradictions

_NEGATIVE = re.compile(
    r"\b(?:never|not|no|none|nor|neither|cannot|\w+n['’]t|avoid\w*|stop \w+ing|deprecated|obsolete|"
    r"forbid\w*|forbidden|prohibit\w*|disabl\w+|refuse\w*|instead|rather|unnecessary|abandon\w*|"
    r"dropped|harmful|wrong|off)\b"
)
_CLAUSE = re.compile(r"[.;:,!?\n]+(?:\s|$)|\b(?:but|because|since|as)\b")
_NUMBER = re.compile(r"(?P<value>\d+(?:\.\d+)*|[a-z]+)(?:\s*(?P<unit>[a-z%]+))?")
_WORDS_FOR_NUMBERS = {
    "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "twelve": "12", "fifteen": "15",
    "twenty": "20", "thirty": "30", "fifty": "50",
}  # fmt: skip
# By the stems of units: what they measure, and how much of it.
_UNITS = {
    "ms": ("time", 0.001), "s": ("time", 1.0), "sec": ("time", 1.0), "second": ("time", 1.0),
    "min": ("time", 60.0), "minut": ("time", 60.0), "h": ("time", 3600.0), "hour": ("time", 3600.0),
    "day": ("time", 86_400.0), "week": ("time", 604_800.0), "kb": ("size", 1.0),
    "mb": ("size", 1e3), "mib": ("size", 1e3), "gb": ("size", 1e6), "gib": ("size", 1e6),
}  # fmt: skip
# Words of which only one can be meant: each line is one choice, spellings of one option joined.
_CHOICES = """
always never
before|first|ahead after|afterwards|later|last
parallel|concurrently|together sequential|sequentially|serially|serial one-after
synchronous|synchronously|sync asynchronous|asynchronously|async|background
enable|enabled|enabling off|disable|disabled|disabling
allow|allowed|permit|permitted forbid|forbidden|deny|denied|block|blocked
client|browser server|backend
own|separate|dedicated share|shared|shares|common
morning|mornings noon afternoon|afternoons evening|evenings night
mock|mocks|mocked|stub|fake real|actual
local utc
tab|tabs space|spaces
manual|manually|hand automatic|automatically|automated
required|mandatory optional|optionally
public private
eager|eagerly lazy|lazily
soft hard
optimistic pessimistic
include|included exclude|excluded
increase|raise|raised decrease|lower|lowered|reduce|reduced
keep|kept|stay|stays|remain|remains|retain delete|deleted|remove|removed|purge|purged|drop
daily|nightly weekly hourly monthly yearly
monday tuesday wednesday thursday friday saturday sunday
merge rebase squash
main master develop trunk
single double
camelcase snake_case kebab-case pascalcase
rest graphql grpc soap
json yaml toml xml csv protobuf msgpack parquet
pdf html docx markdown
png jpeg|jpg webp avif
postgres|postgresql mysql|mariadb sqlite mongodb|mongo oracle dynamodb cassandra
redis memcached|memcache
kafka rabbitmq sqs nats celery
elasticsearch opensearch solr
npm yarn pnpm bun
pip poetry uv conda pipenv
pytest unittest nose
jest vitest mocha jasmine
cypress playwright selenium
black ruff yapf
eslint biome
react vue svelte angular|angularjs
webpack vite rollup esbuild
docker podman
alpine debian ubuntu distroless
kubernetes nomad swarm
aws gcp azure
terraform pulumi ansible
nginx caddy apache traefik
gunicorn uvicorn
jenkins github-actions gitlab-ci
bcrypt argon2|argon2id scrypt pbkdf2 md5
uuid|uuids|ulid bigint|integer|serial|sequence|autoincrement
jwt cookie|cookies
http https
float|floats integer|integers decimal|decimals
monolith microservice|microservices
monorepo polyrepo
vim emacs
"""
# What stands behind these words is what was chosen.
_CHOOSING = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|with|via|on|in|by|through|from|to|into|prefer|choose|gets?|runs?)\s+"
    r"(?:an?\s+|the\s+|our\s+)?(?P<choice>[a-z][\w.+-]*)"
)
_LEAST_SHARED = 2  # words that both texts have
_FRAME = 0.5  # the share of words that two sentences have in common apart from their choices


def contradict(new: str, old: str, closeness: float) -> bool:
    """Guess whether two texts of the same matter say the opposite of it.

    They must share two words: a model may find texts alike that have no matter in common.
    """
    one, other = new[:_LONGEST].lower(), old[:_LONGEST].lower()
    mine, theirs = _content_words(one), _content_words(other)
    shared = mine & theirs
    is_negated = _is_negated(mine, theirs) or _is_negated(theirs, mine)
    if closeness < _SIMILAR or len(shared) + is_negated < _LEAST_SHARED:
        return False
    return (
        _denies(one, shared) != _denies(other, shared)
        or is_negated
        or _differ_in_number(one, other)
        or _differ_in_choice(one, other, is_certain=closeness >= _CERTAIN)
        or (
            closeness >= _CERTAIN
            and len(shared) >= _FRAME * min(len(mine), len(theirs))
            and bool(_chosen(one) - theirs)
            and bool(_chosen(other) - mine)
        )
    )


@cache
def _content_words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in tokenize(text) if not is_function_word(word))


def _denies(text: str, shared: Set[str]) -> bool:
    """Whether a clause that is about the shared matter has a word of refusal."""
    return any(
        _NEGATIVE.search(clause) and not shared.isdisjoint(_content_words(clause))
        for clause in _CLAUSE.split(text)
    )


def _is_negated(words: Set[str], others: Set[str]) -> bool:
    """Whether one has `unpinned` where the other has `pinned`."""
    return any(word.startswith("un") and word[2:] in others - words for word in words - others)


def _differ_in_number(one: str, other: str) -> bool:
    """Whether both give another number of the same thing: `5 s` and `30 s`, `3.9` and `3.11`."""
    mine, theirs = _numbers(one), _numbers(other)
    return any(
        mine[thing].isdisjoint(theirs[thing]) for thing in mine.keys() & theirs.keys() if thing
    )


def _numbers(text: str) -> dict[str, set[str]]:
    """Numbers by their unit, and by the word before them."""
    numbers: dict[str, set[str]] = {}
    before = ""
    for match in _NUMBER.finditer(text):
        word, unit = match["value"], match["unit"] or ""
        value = _WORDS_FOR_NUMBERS.get(word, word)
        if value[0].isdigit():
            root = stem(unit) if unit and not is_function_word(unit) else ""
            thing, factor = _UNITS.get(root, (root, 0.0))
            amount = f"{float(value) * factor:g}" if factor and value.count(".") < 2 else value
            for each in filter(None, (thing, f"{before} " if before and not factor else "")):
                numbers.setdefault(each, set()).add(amount)
            before = unit if unit and not is_function_word(unit) else before
        else:
            for each in (word, unit):
                before = each if each and not is_function_word(each) else before
    return numbers


@cache
def _options() -> dict[str, tuple[int, int]]:
    """The number of its choice and of its option, for each word of a list."""
    return {
        word: (choice, option)
        for choice, line in enumerate(_CHOICES.split("\n"))
        for option, words in enumerate(line.split())
        for word in words.split("|")
    }


def _differ_in_choice(one: str, other: str, *, is_certain: bool) -> bool:
    """Whether both name options of one choice, and none the same.

    If the matter is certain, one may name both options: `a real server, mocks hid two bugs`.
    """
    mine, theirs = _chosen_options(one), _chosen_options(other)
    return any(
        mine[choice].isdisjoint(theirs[choice]) or (is_certain and mine[choice] != theirs[choice])
        for choice in mine.keys() & theirs.keys()
    )


def _chosen_options(text: str) -> dict[int, set[int]]:
    options: dict[int, set[int]] = {}
    for word in re.findall(r"[\w-]+", text.replace("one after the other", "one-after")):
        for choice, option in filter(None, [_options().get(word)]):
            options.setdefault(choice, set()).add(option)
    return options


def _chosen(text: str) -> set[str]:
    """The stems of what a text chooses: the word behind `use`, `with`, `in` …"""
    words = (match["choice"] for match in _CHOOSING.finditer(text))
    return {stem(word) for word in words if not is_function_word(word)}
