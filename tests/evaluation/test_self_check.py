"""What a memory is asked about itself, and when it fails."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.errors import SourceError
from aurora.evaluation.runner import fill
from aurora.evaluation.self_check import (
    Answered,
    ask_all,
    calibration_error,
    check_self,
    make_bins,
    measure,
    read_repository,
)
from aurora.evaluation.self_questions import (
    COMMIT,
    DEFINITION,
    DESCRIPTION,
    FOREIGN,
    SPELLING,
    SYMBOL,
    Place,
    SelfQuestion,
    describe,
    draw_questions,
)
from aurora.report_types import Bin, Missed
from aurora.sources.git import Change
from aurora.types import Chunk, Kind, Lines, SearchResult, Symbol
from tests.builders import make_chunk, write_tree
from tests.evaluation.small_sets import throw_away

BIRDS = ("heron", "stork", "crane", "egret", "swift", "finch", "raven", "eagle", "robin", "goose")
CODE = "".join(
    f"def {verb}_{bird}(lake):\n    return lake.{bird}.{verb}()\n\n\n"
    for bird in BIRDS
    for verb in ("feed", "count", "ring")
)


def draw(
    chunks: Sequence[Chunk], kind: str, changes: Sequence[Change] = (), most: int = 200
) -> list[SelfQuestion]:
    questions = draw_questions(chunks, changes, most)
    return [question for question in questions if question.kind == kind]


def row(chunk: Chunk, symbol: Symbol | None = None, score: float = 0.5) -> SearchResult:
    return SearchResult(chunk, score, (), symbol=symbol)


def test_names_with_few_definitions_are_asked_and_any_of_them_is_right() -> None:
    chunks = [
        make_chunk(path="a.py", name="shared"),
        make_chunk(path="b.py", name="shared", lines=Lines(7, 9)),
        make_chunk(path="a.py", name="go"),
        make_chunk(path="a.py", name="__init__"),
        make_chunk(path="a.py", name="module", kind=Kind.CODE),
        *(make_chunk(path=f"{n}.py", name="everywhere") for n in range(6)),
    ]
    (question,) = draw(chunks, DEFINITION)
    assert question.text == "shared"
    assert question.places == (Place("a.py", 1), Place("b.py", 7))


def test_a_definition_is_its_first_piece_under_its_own_name() -> None:
    whole = make_chunk("class Pond:\n    ...", name="Pond", kind=Kind.CLASS, lines=Lines(1, 90))
    first = make_chunk("def drain(self): ...", name="drain", lines=Lines(10, 30))
    second = replace(first, id="a.py:drain@2", content="drain", lines=Lines(31, 60))
    (question,) = [one for one in draw([whole, first, second], DEFINITION) if one.text == "drain"]

    assert question.places == (Place("a.py", 10),)
    assert question.is_answered_by(row(first))
    assert not question.is_answered_by(row(second))
    assert not question.is_answered_by(row(replace(whole, content="def drain(self): ...")))
    assert not question.is_answered_by(row(replace(first, content="def fill(self): ...")))
    assert not question.is_answered_by(row(replace(first, path="b.py")))


def test_names_inside_chunks_are_asked_and_their_own_lines_count() -> None:
    symbols = [["DEPTH", "constant", 3, 3], ["WIDTH", "constant", 8, 8]]
    chunk = make_chunk(
        "DEPTH = 3", kind=Kind.CODE, lines=Lines(1, 9), metadata={"symbols": symbols}
    )
    depth, width = sorted(draw([chunk], SYMBOL), key=lambda question: question.text)

    assert (depth.text, depth.places) == ("DEPTH", (Place("a.py", 3),))
    assert depth.is_answered_by(row(chunk, chunk.symbols[0]))
    assert depth.is_answered_by(row(chunk))
    assert not depth.is_answered_by(row(chunk, chunk.symbols[1]))
    assert width.is_answered_by(row(chunk, chunk.symbols[1]))
    assert not width.is_answered_by(row(chunk)), "the text does not have the name"


def test_kinds_of_names_are_drawn_in_turn() -> None:
    chunks = [make_chunk(path="a.py", name=f"function{n}") for n in range(50)]
    chunks += [make_chunk(path="a.py", name=f"Class{n}", kind=Kind.CLASS) for n in range(50)]
    assert [question.text[:5] for question in draw(chunks, DEFINITION, most=20)] == [
        "Class",
        "funct",
    ] * 2


def test_another_spelling_is_asked_unless_it_is_another_definition() -> None:
    names = ("total_price", "taxRate", "tax_rate", "sum", "_leading", "HTTPServer2")
    spellings = {question.text for question in draw([make_chunk(name=n) for n in names], SPELLING)}
    assert spellings == {"totalPrice", "http_server2"}


@pytest.mark.parametrize(
    ("text", "name", "question"),
    [
        (
            'def feed(x):\n    """Feed the birds\n    of a lake. Twice."""',
            "feed",
            "the birds of a lake",
        ),
        ("// DrainPond empties a pond:\n// slowly.\nfunc DrainPond() {}", "DrainPond", "empties a"),
        (
            "/**\n * Counts what swims.\n *\n * @author Ada\n */\nint x() {}",
            "x",
            "Counts what swims",
        ),
        ("/**\n * @author Ada Lovelace\n */\nint x() {}", "x", ""),
        ("def feed(x): ...", "feed", ""),
    ],
)
def test_a_description_is_the_first_sentence_without_the_words_of_the_name(
    text: str, name: str, question: str
) -> None:
    assert describe(make_chunk(text, name=name)) == question


def test_descriptions_with_enough_words_that_one_chunk_has_are_asked() -> None:
    texts = {
        "scan": "Waits for herons beside shallow frozen rivers.",
        "wait": "Waits for it and for them and for us.",
        "copy": "Moves seven boats between crowded northern harbours.",
        "twin": "Moves seven boats between crowded northern harbours.",
    }
    chunks = [
        make_chunk(f'def {name}():\n    """{text}"""', path=f"{name}.py", name=name)
        for name, text in texts.items()
    ]
    other = chunks[0].content.replace("frozen", "muddy")
    chunks += [make_chunk(other, name=path, path=path) for path in ("tests/a.py", "a_test.go")]
    (question,) = draw(chunks, DESCRIPTION)
    assert question.text == "Waits for herons beside shallow frozen rivers"
    assert question.is_answered_by(row(chunks[0]))
    assert not question.is_answered_by(row(chunks[1]))


def test_subjects_of_small_commits_ask_for_their_files() -> None:
    changes = [
        Change("Let the heron wade deeper (#12)", ("a.py", "gone.py")),
        Change("Fix typo", ("a.py",)),
        Change("Rename everything in the whole project", tuple(f"{n}.py" for n in range(6))),
        Change("Remove what is not there anymore", ("gone.py",)),
    ]
    (question,) = draw([make_chunk(path="a.py"), make_chunk(path="b.py")], COMMIT, changes)
    assert question == SelfQuestion(COMMIT, "Let the heron wade deeper", (Place("a.py"),))
    assert question.is_answered_by(row(make_chunk(path="a.py", lines=None)))
    assert not question.is_answered_by(row(make_chunk(path="b.py")))


def test_a_question_of_another_project_has_a_word_that_the_memory_has_not() -> None:
    strange = [question.text for question in draw([make_chunk()], FOREIGN, most=1000)]
    assert len(strange) == 60
    knowing = make_chunk("def penguin_migration(): ...  # simmering every broth", name="x")
    left = {question.text for question in draw([knowing], FOREIGN, most=1000)}
    assert set(strange) - left == {"penguinMigration", "simmer_broth"}


def test_the_sample_is_the_same_in_any_order_and_not_larger_than_wanted() -> None:
    chunks = [make_chunk(path=f"{n}.py", name=f"get_bird{n}") for n in range(300)]
    questions = draw_questions(chunks, (), 100)
    assert questions == draw_questions(chunks[::-1], (), 100)
    kinds = [question.kind for question in questions]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        DEFINITION: 20,
        SPELLING: 10,
        FOREIGN: 20,
    }
    assert len(draw_questions(chunks, (), 2)) == 2


def test_a_repository_is_read_as_an_index_would(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path / "shop",
        {"src/birds.py": CODE, "notes.md": "# Herons\n", "out/x.py": "def ignored_one(): pass\n",
         ".gitignore": "out/\n", "picture.png": b"\x89\0"},
    )  # fmt: skip
    subprocess.run(["git", "init", "-q", root], check=True)
    items = read_repository(root)
    assert [item.path for item in items] == [".gitignore", "notes.md", "src/birds.py"]


def test_a_folder_without_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is nothing to read"):
        read_repository(tmp_path)


def test_a_sound_memory_passes_and_one_with_other_lines_fails(tmp_path: Path) -> None:
    """The second memory has the functions of the first under each other's names."""
    write_tree(tmp_path / "sound", {"birds.py": CODE})
    swapped = CODE
    for bird in BIRDS:
        swapped = swapped.replace(f"feed_{bird}", f"ring_{bird}#").replace(
            f"ring_{bird}(", f"feed_{bird}("
        )
    write_tree(tmp_path / "swapped", {"birds.py": swapped.replace("#", "")})
    memories = throw_away(tmp_path, embedding_provider="none")
    with memories.memory() as memory:
        fill(memory, read_repository(tmp_path / "sound"))
        sound = check_self(memory, "sound", None)
        questions = draw_questions(list(memory.admin.chunks()), (), 200)
    with memories.memory() as memory:
        fill(memory, read_repository(tmp_path / "swapped"))
        damaged = measure("swapped", 30, list(ask_all(memory, questions)))

    definitions = sound.kinds[0]
    assert (definitions.kind, definitions.asked, definitions.first) == (DEFINITION, 30, 1.0)
    assert [check.what for check in sound.checks if not check.is_passed] == []
    assert "no commit questions: there is no git repository" in sound.notes
    assert damaged.kinds[0].first == pytest.approx(1 / 3)  # the birds that are counted
    assert not damaged.is_passed
    assert {check.what for check in damaged.checks if not check.is_passed} >= {"definition first"}


def test_the_numbers_of_the_answers() -> None:
    chunk, ask = make_chunk(name="heron"), SelfQuestion(DEFINITION, "heron", (Place("a.py", 1),))
    foreign = SelfQuestion(FOREIGN, "penguins")
    answered = [
        Answered(ask, 1, row(chunk, score=0.9), 4.0),
        Answered(ask, 2, row(chunk, score=0.7), 1.0),
        Answered(ask, 0, None, 3.0),
        Answered(ask, 1, row(chunk, score=0.7), 2.0),
        Answered(foreign, 0, row(chunk, score=0.4), 1.0),
        Answered(foreign, 0, None, 1.0),
    ]
    check = measure("here", 12, answered, ("no commits",))

    assert check.kinds == ((DEFINITION, 4, 0.5, 0.75, 2.0, 4.0),)
    assert (check.chunks, check.questions, check.foreign, check.notes) == (
        12,
        6,
        2,
        ("no commits",),
    )
    assert (check.refused, check.false_answers) == (0.25, 0.5)
    assert check.missed == (
        Missed(DEFINITION, "heron", "a.py:1", 0, "", 0.0),
        Missed(DEFINITION, "heron", "a.py:1", 2, "a.py:heron", 0.7),
        Missed(FOREIGN, "penguins", "", 0, "a.py:heron", 0.4),
    )
    assert check.checks == (), "so few questions say nothing"
    assert check.is_passed


@pytest.mark.parametrize(
    ("rows", "foreign", "failed"),
    [
        ([(1, 0.9)] * 40, 0, []),
        ([(1, 0.9)] * 35 + [(2, 0.9)] * 5, 0, ["definition first"]),
        ([(1, 0.9)] * 37 + [(0, 0.9)] * 3, 0, ["definition in five"]),
        ([(1, 0.9)] * 40, 20, ["false answers"]),
        ([(1, 0.9)] * 36 + [(2, 0.9)] * 4, 5, []),
        ([(1, 0.3)] * 40, 0, []),
    ],
)
def test_a_check_fails_beyond_its_limit(
    rows: list[tuple[int, float]], foreign: int, failed: list[str]
) -> None:
    ask, other = SelfQuestion(DEFINITION, "x", (Place("a.py", 1),)), SelfQuestion(FOREIGN, "y")
    answered = [Answered(ask, place, row(make_chunk(), score=score), 1.0) for place, score in rows]
    rejected = [Answered(other, 0, None, 1.0)] * (20 - foreign)
    answered += [Answered(other, 0, row(make_chunk(), score=0.1), 1.0)] * foreign + rejected
    check = measure("here", 1, answered)
    assert [one.what for one in check.checks if not one.is_passed] == failed
    assert check.is_passed == (not failed)


def test_refusals_and_scores_that_are_too_high_fail() -> None:
    ask = SelfQuestion(DESCRIPTION, "x", (Place("a.py", 1),))
    wrong = [Answered(ask, 0, row(make_chunk(), score=0.8), 1.0)] * 20
    check = measure("here", 1, [*wrong, *[Answered(ask, 0, None, 1.0)] * 20])
    failed = {one.what: one.value for one in check.checks if not one.is_passed}
    assert failed == {"answerable questions refused": 0.5, "overconfidence": pytest.approx(0.8)}


def test_scores_are_compared_with_the_share_that_is_right() -> None:
    bins = make_bins([(0.95, True), (1.0, True), (0.55, True), (0.55, False), (0.05, False)])
    assert bins == (
        Bin(0.0, 0.1, 0.05, 0.0, 1),
        Bin(0.5, 0.6, 0.55, 0.5, 2),
        Bin(0.9, 1.0, 0.975, 1.0, 2),
    )
    error, too_high = calibration_error(bins)
    assert error == pytest.approx((0.05 + 2 * 0.05 + 2 * 0.025) / 5)
    assert too_high == pytest.approx((0.05 + 2 * 0.05) / 5)
    assert calibration_error(()) == (0.0, 0.0)


def test_only_the_checked_memory_answers(tmp_path: Path) -> None:
    """What the person remembers is in no question, and would count as a wrong answer."""
    root = write_tree(tmp_path / "web", {"lake.py": CODE})
    with Memory(Places(tmp_path / "home", root)) as memory:
        memory.index(root)
        assert memory.personal is not None
        memory.personal.add("quokkas eat ferns")
        assert memory.search("quokkas eat ferns").results[0].memory == "personal"
        (answered,) = ask_all(memory, [SelfQuestion(FOREIGN, "quokkas eat ferns")])
    assert answered.first is None or answered.first.memory == "web"
