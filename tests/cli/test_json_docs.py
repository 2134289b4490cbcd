"""docs/reference/json.md is what `--json` prints: every field, and no other."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from aurora import Settings
from tests.cli.conftest import Shell
from tests.evaluation.small_sets import write_set

pytestmark = pytest.mark.one_store("about the documentation")


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def documented(title: str) -> set[str]:
    """The fields that a section's tables name, without those that stand inside another."""
    cells = re.findall(r"^\| (`.+?`) \|", section(title), re.MULTILINE)
    return {name.partition(".")[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def shape(value: object, name: str = "") -> object:
    """What is left when values are taken out: names, kinds of values, and one item of a list."""
    if isinstance(value, dict) and name not in {"metadata", "filters", "scores"}:
        return {key: shape(item, key) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [shape(value[0])]
    return type(value).__name__


def committed(shell: Shell) -> Shell:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "add", "."], cwd=shell.cwd, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "x"], cwd=shell.cwd, check=True)
    shell.ok("mem", "index", ".")
    shell.ok("mem", "get", "auth_manager.py:authenticate_user")
    return shell


def test_the_example_of_a_search_has_the_shape_of_a_real_answer(shell: Shell) -> None:
    example = json.loads(re.findall(r"```json\n(.+?)```", PAGE, re.DOTALL)[0])
    assert example["fusion"] == Settings().search.fusion
    told = committed(shell).ok(
        *("mem", "search", "authenticate user", "--type", "function", "-C", "0", "--json")
    )
    assert shape(json.loads(told)) == shape(example)


def test_every_field_of_a_search_is_told(indexed: Shell) -> None:
    answer = json.loads(indexed.ok("mem", "search", "password", "--json", "-C", "1"))
    result = answer["results"][0]
    assert documented("aur mem search --json") == {*answer, *result} - {"version"}


def test_every_field_of_a_chunk_is_told(indexed: Shell) -> None:
    """They are those of a search's result that are about the chunk, and its text."""
    chunk = json.loads(indexed.ok("mem", "get", "authenticate_user", "--json"))
    result = json.loads(indexed.ok("mem", "search", "authenticate_user", "--json"))["results"][0]
    names = list(result)
    about = names[names.index("id") : names.index("metadata") + 1]
    assert list(chunk) == [*about, "content", "note", "remarks"]
    assert {name: chunk[name] for name in about} == {name: result[name] for name in about}


def test_every_field_of_a_history_is_told(indexed: Shell) -> None:
    id_ = indexed.ok("mem", "learn", "write it down").strip()
    [version] = json.loads(indexed.ok("mem", "history", id_, "--json"))["versions"]
    assert documented("aur mem history --json") == version.keys()


def test_every_field_of_a_recall_is_told(indexed: Shell) -> None:
    indexed.ok("mem", "learn", "authenticate first")
    indexed.ok("mem", "learn", "a lesson that has no room " + "beside the first " * 9)
    told = json.loads(indexed.ok("recall", "--budget", "60", "--json"))
    assert documented("aur recall --json") == set(told) - {"version"}
    inside = {*told["items"][0], *told["left_out"][0]}
    assert all(f"`{name}`" in section("aur recall --json") for name in inside)


def test_every_field_of_the_savings_is_told(indexed: Shell) -> None:
    indexed.run("hook", "codex", "Stop")
    told = json.loads(indexed.ok("savings", "--json"))
    assert documented("aur savings --json") == set(told) - {"version"}
    assert all(f"`{name}`" in section("aur savings --json") for name in told["calls"][0])


def test_every_field_of_the_stats_and_of_the_doctor_is_told(indexed: Shell) -> None:
    for words in (("mem", "stats"), ("doctor",)):
        told = json.loads(indexed.ok(*words, "--json"))
        assert documented(f"aur {' '.join(words)} --json") == set(told)


def test_every_field_of_an_evaluation_is_told(indexed: Shell, tmp_path: Path) -> None:
    words = ("--mode", "keyword", "--mode", "semantic", "--compare", "--json")
    found = json.loads(indexed.ok("eval", str(write_set(tmp_path / "x")), *words))["sets"][0]
    assert documented("aur eval --json") == set(found)
    inside = {*found["systems"][0], *found["comparisons"][0], *found["systems"][0]["metrics"]}
    assert all(f"`{name}`" in section("aur eval --json") for name in inside)


def test_every_field_of_a_self_check_is_told(indexed: Shell) -> None:
    found = json.loads(indexed.run("eval", "--self", "--json").stdout)
    assert documented("aur eval --self --json") == {*found} - {"version"}
    inside = {*found["kinds"]["definition"], *found["bins"][0], *found["missed"][0]}
    assert all(f"`{name}`" in section("aur eval --self --json") for name in inside)


def test_every_field_of_a_server_is_told(shell: Shell, memory_url: str) -> None:
    shell.environ["AURORA_STORE_URL"] = memory_url
    told = json.loads(shell.ok("db", "status", "--json"))
    assert documented("aur db status --json") == set(told)


def test_the_doctors_findings_have_four_fields(indexed: Shell) -> None:
    finding = json.loads(indexed.ok("doctor", "--json"))["findings"][0]
    assert set(finding) == {"level", "area", "text", "hint"}
    assert all(f"`{name}`" in section("aur doctor --json") for name in finding)
