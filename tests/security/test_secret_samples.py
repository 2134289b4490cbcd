"""How many secrets are found, of which kinds, and what is left alone."""

from __future__ import annotations

import pytest

from aurora.redaction import KEY_RULES, PLACES, Redactor
from tests.security.secret_samples import HONEST, KEYS, Sample, samples
from tests.tables import row

SAMPLES = list(samples())
MEGABYTE = 1_000_000
PROMPTS = " password= token: key= :// ? & ; hook machine curl mysql bearer authorization end"


def is_missed(sample: Sample) -> bool:
    return sample.secret in Redactor().text(sample.line)


def test_at_least_95_of_100_secrets_are_found() -> None:
    missed = [sample for sample in SAMPLES if is_missed(sample)]
    assert len(SAMPLES) >= 200
    assert len({sample.kind for sample in SAMPLES}) >= 80
    assert 1 - len(missed) / len(SAMPLES) >= 0.95, missed
    assert {sample.kind for sample in missed} <= {"words", "apart"}, missed


def test_a_form_is_known_by_itself_and_only_whole() -> None:
    for kind, key in KEYS:
        with row(kind, key):
            redactor = Redactor()
            assert redactor.text(f"a {key} b") == f"a [redacted: {kind}] b"
            assert redactor.kinds == {kind: 1}


def test_every_rule_finds_a_sample() -> None:
    redactor = Redactor()
    for sample in SAMPLES:
        redactor.text(sample.line)
    rules = {rule.name for rule in (*KEY_RULES, *PLACES)}
    assert set(redactor.kinds) == rules


def test_what_only_looks_a_little_like_one_stays() -> None:
    for line in HONEST:
        with row(line):
            redactor = Redactor()
            assert redactor.text(line) == line
            assert redactor.warning == ""


def test_twice_is_once_and_neighbours_stay() -> None:
    for sample in SAMPLES:
        with row(sample):
            once = Redactor().text(f"before\n{sample.line}\nafter")
            again = Redactor()
            assert (again.text(once), again.warning) == (once, "")
            assert (once[:7], once[-6:]) == ("before\n", "\nafter")


def test_a_sign_that_grows_in_lower_case_moves_nothing() -> None:
    text = "\u0130" * 50 + "\npassword = 'Xk9$mQ2v'\n" + "\u0130" * 50
    assert Redactor().text(text) == text.replace("Xk9$mQ2v", "[redacted: secret]")


@pytest.mark.timeout(120)  # a pattern that backtracks takes hours; these take a second
@pytest.mark.parametrize(
    "unit",
    [
        "a", "A", "-", "0", "--", "password", "password=", "apikey", "token: string ", "a://b:c",
        "eyJa.", "host=a password=", "machine a login ", "curl a ", "mysql -u ", "?key=", "1Q~",
        "Authorization: Basic ", "--token ", "token value", "token, value: ", "sk-", "; pwd = a",
    ],
)  # fmt: skip
def test_a_hostile_line_of_a_megabyte_takes_linear_time(unit: str) -> None:
    line = unit * (MEGABYTE // len(unit)) + PROMPTS
    assert Redactor().text(line).endswith(" end")
