"""Pairs are read from small packages made here, put together and given hard negatives."""

import gzip
import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from training.assemble import Evaluation, assemble, text_runs
from training.corpus import Pair
from training.negatives import answers, block_negatives
from training.readers.brace_pairs import brace_pairs
from training.readers.changelog_pairs import changelog_pairs
from training.readers.markdown_pairs import document_pairs
from training.readers.pairs import package_pairs
from training.readers.python_pairs import definitions, parameter_pairs, python_pairs
from training.readers.texts import as_search, first_sentence, is_english, open_name
from training.sources.archives import read_texts
from training.sources.fetch import Package, read_list, write_list
from training.sources.licences import judge, licence_of

PYTHON = '''
class Ledger(Base):
    """Keeps the entries of an account in the order they were booked."""

    def __init__(self, path):
        self.path = path

    def booked_total(self, since, until=None):
        """Sum up everything that was booked in a span of time.

        :param since_day: the first day that counts for the sum
        """
        entries = self.entries(since, until)
        total = 0
        # Entries that were taken back come twice here.
        for entry in entries:
            total += entry.amount
        return total
'''

GO = """package ledger

// OpenLedger reads the ledger at the path and checks every line of it.
func OpenLedger(path string) (*Ledger, error) {
\tcontent, err := os.ReadFile(path)
\tif err != nil {
\t\treturn nil, err
\t}
\treturn parse(content)
}

var unrelated = 1
"""

README = """# Ledger

Books amounts.

## Taking an entry back

An entry is never deleted from the file. Taking it back writes a second entry with the opposite
amount, so that the history stays complete and every total can be checked against the paper.

## License

MIT, as everybody would expect of a small ledger library such as this one.
"""


def make_archive(folder: Path, files: dict[str, str]) -> Path:
    path = folder / "ledger-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            content = text.encode("utf-8")
            info = tarfile.TarInfo(f"ledger-1.0/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_a_docstring_asks_for_its_body_and_is_not_in_it() -> None:
    pairs = list(python_pairs(PYTHON, definitions(PYTHON), "ledger-1.0"))
    answers = [pair.b for pair in pairs if "booked in a span of time" in pair.a.lower()]
    assert any("total += entry.amount" in answer for answer in answers)
    assert not any("booked in a span of time" in answer for answer in answers)


def test_a_class_is_answered_by_the_names_of_its_methods() -> None:
    found = {definition.name: definition for definition in definitions(PYTHON)}
    assert found["Ledger"].body == (
        "    def __init__(self, path)\n    def booked_total(self, since, until=None)"
    )
    assert found["booked_total"].qualified_name == "Ledger.booked_total"


def test_a_comment_inside_code_asks_for_the_lines_below_it() -> None:
    (pair,) = python_pairs(PYTHON, [], "ledger-1.0")
    assert pair.a == "Entries that were taken back come twice here."
    assert pair.b == "for entry in entries:\n    total += entry.amount\nreturn total"


def test_a_parameter_is_told_in_all_its_lines() -> None:
    text = ":param first_day: the first day that\n    counts for the sum\n:returns: a number"
    (pair,) = parameter_pairs(text, "ledger-1.0")
    assert (pair.a, pair.b) == ("first day", "the first day that counts for the sum")


def test_what_is_not_python_gives_nothing() -> None:
    assert list(definitions("print 'old'")) == []


def test_a_comment_above_a_function_asks_for_it_without_its_name() -> None:
    pairs = [pair for pair in brace_pairs(GO, "ledger-1.0", ".go") if pair.kind == "code"]
    assert pairs
    assert "reads the ledger" in pairs[0].a.lower().replace("read the", "reads the")
    assert not pairs[0].a.startswith("OpenLedger")
    assert pairs[0].b.endswith("return parse(content)\n}")


def test_a_heading_asks_for_its_section_but_ceremony_is_left_out() -> None:
    pairs = list(document_pairs(README, "ledger-1.0", "ledger"))
    questions = [pair.a for pair in pairs]
    assert any("Taking an entry back" in question for question in questions)
    assert not any("icense" in question for question in questions)


def test_an_underlined_heading_is_a_heading_and_a_bare_one_is_told_apart() -> None:
    text = (
        "Usage\n=====\n\nGive the path of the file to the command and it prints every total "
        "that it finds there, one to a line, with the day it was booked.\n"
    )
    assert next(document_pairs(text, "ledger-1.0", "ledger")).a == "ledger Usage"


def test_a_change_log_line_asks_for_the_code_it_names() -> None:
    text = "1.0\n---\n\n- ``Ledger.booked_total()`` now leaves out entries of the future (#12).\n"
    code = "def booked_total(self, since):\n    return sum(self.entries(since))"
    (pair,) = changelog_pairs(text, {"booked_total": code}, "ledger-1.0")
    assert pair.a == "Ledger.booked_total() now leaves out entries of the future"
    assert pair.b == code


def test_a_package_is_read_without_its_tests(tmp_path: Path) -> None:
    archive = make_archive(
        tmp_path, {"ledger.py": PYTHON, "tests/test_ledger.py": PYTHON, "README.md": README}
    )
    suffixes = frozenset((".py", ".md"))
    assert [member.path for member in read_texts(archive, suffixes)] == ["ledger.py", "README.md"]
    kinds = {pair.kind for pair in package_pairs(archive, "ledger", "ledger-1.0")}
    assert {"code", "prose"} <= kinds


def test_a_damaged_archive_gives_what_it_can(tmp_path: Path) -> None:
    archive = make_archive(tmp_path, {"ledger.py": PYTHON})
    archive.write_bytes(archive.read_bytes()[:40])
    assert list(read_texts(archive, frozenset((".py",)))) == []


@pytest.mark.parametrize(
    ("words", "judged"),
    [
        (["MIT"], "mit"),
        (["BSD License", "3-clause BSD"], "bsd"),
        (["MIT OR GPL-2.0"], None),
        (["MIT", "something of our own"], None),
        ([], None),
    ],
)
def test_only_permissive_licences_pass(words: list[str], judged: str | None) -> None:
    assert judge(words) == judged


def test_the_licence_is_read_from_the_archive(tmp_path: Path) -> None:
    metadata = (
        "Name: ledger\nLicense: MIT\nClassifier: License :: OSI Approved :: MIT License\n\nText"
    )
    assert licence_of(make_archive(tmp_path, {"PKG-INFO": metadata})) == "mit"


def test_the_package_list_comes_back_as_it_was_written(tmp_path: Path) -> None:
    packages = [
        Package("npm", "@a/b", "1.0", "mit", "0" * 64),
        Package("pypi", "c", "2", "bsd", "1" * 64),
    ]
    write_list(packages, tmp_path / "packages.tsv")
    assert read_list(tmp_path / "packages.tsv") == packages


def test_names_open_and_sentences_end() -> None:
    assert open_name("getHTTPResponse_code") == "get http response code"
    assert (
        first_sentence("Reads the ledger at the path. Closes it too.")
        == "Reads the ledger at the path"
    )
    assert "return the total" in as_search("Returns the total.", "python")


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Return the number of entries in the list", True),
        ("Devuelve el número de las entradas de la lista", False),
        ("返回列表中的条目数", False),
    ],
)
def test_other_languages_are_told_from_english(text: str, *, english: bool) -> None:
    assert is_english(text) is english


def make_evaluation(folder: Path) -> Evaluation:
    (folder / "set").mkdir()
    with gzip.open(folder / "set/corpus.jsonl.gz", "wt", encoding="utf-8") as lines:
        known = "one two three four five six seven eight nine ten eleven"
        lines.write(
            json.dumps({"id": "1", "text": known, "path": "a.py", "group": "ledger"}) + "\n"
        )
        lines.write(json.dumps({"id": "2", "text": "在歐洲梵語的學術研究由德國學者開創"}) + "\n")
    (folder / "set/queries.jsonl").write_text('{"id": "q", "text": "who?"}\n', encoding="utf-8")
    return Evaluation(folder)


def pair(a: str, b: str, source: str = "other-1.0", kind: str = "prose") -> Pair:
    return Pair(a, b, kind, source)


def test_what_the_evaluation_knows_is_dropped_with_its_reason(tmp_path: Path) -> None:
    evaluation = make_evaluation(tmp_path)
    given = [
        pair("a question", "first, two three four FIVE six; seven eight nine ten last"),
        pair("almost the same", "two three four five six seven eight nine apart"),
        pair("研究", "他說歐洲梵語的學術研究由德國學者完成", kind="cjk"),
        pair("a third", "whatever this says", "ledger-2.0"),
        pair("same question", "one passage"),
        pair("same question", "one passage"),
        pair("same question", "another passage"),
        pair("Same question!", "a third passage"),
    ]
    dropped: Counter[tuple[str, str]] = Counter()
    kept = list(assemble(given, evaluation, dropped))
    assert [one.a for one in kept] == ["almost the same", "same question", "same question"]
    assert dropped == {
        ("evaluation", "prose"): 1,
        ("evaluation", "cjk"): 1,
        ("searched project", "prose"): 1,
        ("duplicate", "prose"): 2,
    }


@pytest.mark.parametrize(
    ("source", "searched"),
    [("ledger-1.2.3", True), ("librust-ledger-dev-0.6.1-2+b1", True), ("ledger-tools-1.0", False)],
)
def test_a_searched_project_is_known_in_every_registry(
    source: str, tmp_path: Path, *, searched: bool
) -> None:
    assert make_evaluation(tmp_path).searches(source) is searched


def test_runs_are_words_in_a_row_of_one_text() -> None:
    found, owners = text_runs(["a b c d e f g h", "a b c d e f g h i j"])
    assert len(found) == 2
    assert owners.tolist() == [1, 1]


def test_negatives_share_words_and_are_never_the_answer() -> None:
    questions = ["open the ledger", "open the ledger", "paint a wall", "close the ledger"]
    passages = ["ledger opened here", "the other ledger", "walls and colours", "ledger closed here"]
    chosen = block_negatives(questions, passages, np.random.default_rng(1))
    assert chosen.shape == (4, 4)
    assert all(row not in chosen[row] for row in range(4))
    assert chosen[3][0] in (0, 1)
    assert chosen[0][0] == 3  # row 1 answers the same question


def test_a_question_without_words_gets_any_other_passages() -> None:
    chosen = block_negatives(["!", "ledger"], ["one", "two"], np.random.default_rng(1))
    assert chosen.tolist() == [[1] * 4, [0] * 4]


def test_a_wider_cut_of_the_answer_is_no_negative() -> None:
    passage = "an entry is never deleted from the file"
    assert answers("taking an entry back", passage, f"taking it back {passage} but doubled")
    assert answers(
        "why not delete entries at once", passage, "why not delete entries at once because"
    )
    assert not answers("taking an entry back", passage, "entries are printed one to a line")
