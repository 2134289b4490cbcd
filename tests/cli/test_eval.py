"""`aur eval`: what is printed, written and refused."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.builders import write_tree
from tests.cli.conftest import Shell
from tests.evaluation.small_sets import ITEMS, write_set

pytestmark = pytest.mark.one_store("makes memories of its own, in files")


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    return write_set(tmp_path / "birds")


def test_a_table_on_stdout(shell: Shell, birds: Path) -> None:
    lines = shell.ok("eval", str(birds), "--mode", "keyword").splitlines()
    assert lines[0] == "birds: 2 questions, 3 documents, vectors of aurora/deep"
    assert lines[1].split() == [
        "nDCG@10", "MRR@10", "R@1", "R@5", "R@10", "R@100", "p50", "ms", "p95", "ms",
        "unanswered",
    ]  # fmt: skip
    assert lines[2].split()[:4] == ["keyword", "1.000", "1.000", "0.750"]
    assert lines[3].split()[:3] == ["1.000-1.000", "1.000-1.000", ".500-1.000"]
    assert len(lines) == 4


def test_every_combination_is_a_line(shell: Shell, birds: Path) -> None:
    words = ("--mode", "hybrid", "--mode", "semantic", "--fusion", "rrf", "--fusion", "staged")
    found = json.loads(shell.ok("eval", str(birds), "--json", *words))
    systems = [one["system"] for one in found["sets"][0]["systems"]]
    assert systems == ["hybrid/rrf", "hybrid/staged", "semantic"]


def test_all_is_every_mode_and_every_fusion(shell: Shell, birds: Path) -> None:
    found = json.loads(shell.ok("eval", str(birds), "--json", "--all"))
    systems = [one["system"] for one in found["sets"][0]["systems"]]
    assert systems[:2] == ["keyword", "semantic"]
    assert {"hybrid/weighted", "hybrid/rrf", "hybrid/staged", "hybrid/cascade"} <= set(systems)


def test_json_is_everything_and_nothing_else(shell: Shell, birds: Path, tmp_path: Path) -> None:
    asked = [{"id": "q1", "text": "heron", "category": "birds"}]
    grades = [("q1", "d1", 1), ("q1", "gone", 1)]
    other = write_set(tmp_path / "other", ITEMS, asked, grades)

    done = shell.run("eval", str(birds), str(other), "--json", "--mode", "keyword")

    first, second = json.loads(done.stdout)["sets"]
    assert (first["name"], first["questions"], first["documents"], first["groups"]) == (
        "birds", 2, 3, 1,
    )  # fmt: skip
    metrics = first["systems"][0]["metrics"]
    assert list(metrics) == ["nDCG@10", "MRR@10", "R@1", "R@5", "R@10", "R@100"]
    assert metrics["R@1"] == {"mean": 0.75, "low": 0.5, "high": 1.0}
    assert first["systems"][0]["milliseconds"].keys() == {"p50", "p95"}
    assert second["categories"]["birds"][0]["questions"] == 1
    assert second["warnings"] == ["1 judgement of missing documents: no search can find them"]
    assert f"Warning: other: {second['warnings'][0]}" in done.stderr


def test_a_table_for_each_category(shell: Shell, tmp_path: Path) -> None:
    asked = [
        {"id": "q1", "text": "heron", "category": "birds"},
        {"id": "q2", "text": "kettle", "category": "things"},
    ]
    folder = write_set(tmp_path / "x", questions=asked)
    plain = shell.ok("eval", str(folder), "--mode", "keyword")
    assert "things" not in plain
    lines = shell.ok("eval", str(folder), "--mode", "keyword", "--category").splitlines()
    assert "birds: 1 question" in lines
    assert "things: 1 question" in lines


def test_fewer_questions(shell: Shell, birds: Path) -> None:
    found = json.loads(shell.ok("eval", str(birds), "--json", "--most", "1"))
    assert found["sets"][0]["questions"] == 1


def test_without_a_model_nothing_has_a_vector(shell: Shell, birds: Path) -> None:
    assert "3 documents, no vectors" in shell.ok("eval", str(birds), "--provider", "none")


def test_a_run_is_written(shell: Shell, birds: Path) -> None:
    shell.ok("eval", str(birds), "--mode", "keyword", "--run", "x.run")
    lines = (shell.cwd / "x.run").read_text().splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["q1", "Q0", "d1", "1"], ["q1", "Q0", "d3", "2"], ["q2", "Q0", "d2", "1"],
    ]  # fmt: skip
    assert {line.split()[5] for line in lines} == {"keyword"}


def test_each_of_several_runs_has_a_name_of_its_own(shell: Shell, birds: Path) -> None:
    words = ("--mode", "keyword", "--mode", "hybrid", "--fusion", "rrf", "--run", "x.run")
    done = shell.run("eval", str(birds), *words)
    names = ["x-birds-keyword.run", "x-birds-hybrid-rrf.run"]
    assert [f"Wrote {name}" for name in names] == done.stderr.splitlines()
    assert all((shell.cwd / name).stat().st_size for name in names)
    assert not (shell.cwd / "x.run").exists()


def test_the_users_own_memory_is_not_touched(shell: Shell, birds: Path) -> None:
    shell.ok("mem", "index", ".")
    before = json.loads(shell.ok("mem", "stats", "--json"))
    shell.ok("eval", str(birds))
    assert json.loads(shell.ok("mem", "stats", "--json")) == before


def test_interrupted_it_leaves_nothing_behind(shell: Shell, tmp_path: Path) -> None:
    items = [{"id": f"d{n}", "text": f"heron number {n}"} for n in range(500)]
    questions = [{"id": f"q{n}", "text": f"heron number {n}"} for n in range(500)]
    grades = [(f"q{n}", f"d{n}", 1) for n in range(500)]
    folder = write_set(tmp_path / "many", items, questions, grades)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    shell.environ["TMPDIR"] = str(scratch)

    process = shell.start("eval", str(folder))
    while not list(scratch.glob("*/files/.aurora/memory.db")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate()

    assert (process.returncode, talk.strip()) == (130, "Interrupted.")
    assert list(scratch.iterdir()) == []


def test_what_is_wrong_is_told_before_anything_is_asked(shell: Shell, birds: Path) -> None:
    (birds / "qrels.tsv").write_text("q\td\tgrade\nq1\td1\tgood\n")
    told = shell.fails("eval", str(birds))
    assert f"{birds}/qrels.tsv, line 2: 'good' is not a grade" in told
    assert "hint: write a number" in told


def test_a_set_must_be_named(shell: Shell) -> None:
    assert "Name the folder of a set, or --self" in shell.fails("eval")


def test_systems_are_compared_with_the_default(shell: Shell, birds: Path) -> None:
    words = ("--mode", "keyword", "--mode", "hybrid", "--compare")
    found = json.loads(shell.ok("eval", str(birds), "--json", *words))["sets"][0]
    (one,) = found["comparisons"]
    assert (one["system"], one["against"]) == ("keyword", found["systems"][1]["system"])
    assert one["wins"] + one["ties"] + one["losses"] == 2
    assert "by nDCG@10" in shell.ok("eval", str(birds), *words)


def test_an_earlier_run_is_compared(shell: Shell, birds: Path) -> None:
    shell.ok("eval", str(birds), "--mode", "keyword", "--run", "x.run")
    told = shell.ok("eval", str(birds), "--mode", "keyword", "--baseline", "x.run").splitlines()
    assert told[-1].split() == [
        "keyword", "against", "x.run", "+0.000", "+0.000", "to", "+0.000", "1.0000", "0-2-0",
    ]  # fmt: skip


def test_a_picture_is_drawn(shell: Shell, birds: Path) -> None:
    shell.ok("eval", str(birds), "--mode", "keyword", "--plot", "x.svg")
    assert (shell.cwd / "x.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--compare",), "There is nothing to compare"),
        (("--plot", "x.png"), "name an .svg file"),
        (("--run", "gone/x.run"), "There is no folder gone"),
        (("--baseline", "gone.run"), "There is no gone.run"),
        (("--mode", "fast"), "'fast' is not one of"),
        (("--self", "--compare"), "--self takes one DIR"),
    ],
)
def test_what_cannot_be_done_is_refused(
    shell: Shell, birds: Path, words: tuple[str, ...], told: str
) -> None:
    assert told in shell.fails("eval", str(birds), *words)


def test_a_baseline_is_of_one_set(shell: Shell, birds: Path) -> None:
    assert "one set" in shell.fails("eval", str(birds), str(birds), "--baseline", "x.run")


def test_names_of_a_project_are_asked_of_its_own_memory(shell: Shell) -> None:
    shell.ok("mem", "index", ".")
    shell.ok("mem", "search", "authenticate")  # the indexes are as they will be
    files = {path: path.read_bytes() for path in shell.cwd.rglob("*") if path.is_file()}

    done = shell.run("eval", "--self", "--json", "--most", "50")

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["where"].endswith("/.aurora/memory.db")
    definitions = found["kinds"]["definition"]
    assert (definitions["asked"], definitions["first"], found["ok"]) == (4, 1.0, True)
    now = {path: path.read_bytes() for path in shell.cwd.rglob("*") if path.is_file()}
    changed = {path.name for path in now if now[path] != files.get(path)}
    own = {"memory.db-shm", "memory.db-wal", "memory.db-seal"}  # notes of readers and of times
    assert changed <= own
    with shell.store() as store:
        ids = [chunk.id for chunk in store.chunks.iter_chunks()]
        assert not any(store.chunks.get_accesses(ids).values())


def test_names_of_a_repository_without_a_memory(shell: Shell) -> None:
    (shell.cwd / "below").mkdir()
    done = shell.run("eval", "--self", "--most", "50", cwd=shell.cwd / "below")
    assert done.returncode == 0, done.stderr
    assert f"There is no memory of {shell.cwd}" in done.stderr
    assert done.stdout.splitlines()[0].startswith(f"{shell.cwd}: ")
    assert ["definition", "4", "100.0%"] in [line.split()[:3] for line in done.stdout.splitlines()]
    assert not (shell.cwd / ".aurora").exists()


def test_subjects_of_commits_are_asked(shell: Shell) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("add", "settings.py"), ("commit", "-qm", "Raise the timeout of users")):
        subprocess.run(["git", *names, *words], cwd=shell.cwd, check=True)
    shell.ok("mem", "index", ".")
    found = json.loads(shell.ok("eval", "--self", "--json", "--most", "50"))
    assert found["kinds"]["commit"]["asked"] == 1
    assert not any(note.startswith("no commit") for note in found["notes"])


def test_a_memory_with_swapped_names_fails(shell: Shell, tmp_path: Path) -> None:
    """Each function gets the name of the next one; its text and its lines stay."""
    code = "".join(f"def feed_{n}_birds(lake):\n    return lake.feed({n})\n\n\n" for n in range(30))
    write_tree(shell.cwd, {"birds.py": code})
    shell.ok("mem", "index", ".")
    assert failed_checks(shell).isdisjoint(NAME_CHECKS)

    lines = [json.loads(line) for line in shell.ok("mem", "export").splitlines()]
    functions = [line for line in lines if "feed_" in line.get("name", "")]
    names = [function["name"] for function in functions]
    for function, name in zip(functions, names[1:] + names[:1], strict=True):
        function |= {"name": name, "qualified_name": name}
    file = tmp_path / "swapped.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    shell.ok("mem", "import", str(file))

    assert failed_checks(shell) >= NAME_CHECKS
    done = shell.run("eval", "--self")
    assert done.returncode == 1
    assert "failed: definition first" in done.stdout


NAME_CHECKS = {"definition first", "definition in five"}


def failed_checks(shell: Shell) -> set[str]:
    done = shell.run("eval", "--self", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["ok"] else 1)
    return {check["what"] for check in found["checks"] if not check["is_passed"]}


def test_a_folder_without_names_is_refused(shell: Shell, birds: Path) -> None:
    assert "holds no function" in shell.fails("eval", "--self", str(birds))
    assert "There is no folder" in shell.fails("eval", "--self", "gone")
