"""Every benchmark script runs to its end on a tiny size. What it measures then means nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import write_tree
from tests.evaluation.small_sets import write_set

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    file.relative_to(ROOT / "benchmarks").as_posix()
    for file in (ROOT / "benchmarks").rglob("*.py")
    if 'if __name__ == "__main__":' in file.read_text(encoding="utf-8")
    and ".cache" not in file.parts
)
# {repo} is a repository, {set} a labelled set, {models} a folder with MiniLM, {asked} questions,
# {talk} two sets of conversations.
RUNS: dict[str, Sequence[str]] = {
    "load/scenes.py": ("--clients=2", "--calls=12", "--chunks=30"),
    "load/sustained.py": ("--without-peer", "--seconds=2", "--clients=2", "--chunks=30"),
    "load/workers.py": ("--clients=2", "--calls=8", "--rounds=1", "--chunks=30"),
    "quality/ablation.py": ("{set}", "--most=3"),
    "quality/answers.py": ("{repo}/..", "--questions={asked}", "--misses"),
    "quality/calibration.py": ("{repo}/..", "--questions={asked}"),
    "quality/confidence.py": ("{set}",),
    "quality/day_zero.py": ("--only=game",),
    "quality/day_of_work.py": ("--only=game", "--wrong", "--missed"),
    "quality/decisions.py": (),
    "quality/distilled.py": ("--models={models}",),
    "quality/fallback.py": ("{repo}", "--queries=aurora"),
    "quality/fusions.py": ("{set}", "--most=3"),
    "quality/identifiers.py": ("{repo}", "--count=3"),
    "quality/lessons.py": ("{repo}/..", "--questions={asked}", "--only=birds", "--rounds=1"),
    "quality/models.py": ("{set}", "--model=aurora:shallow", "--most=3", "--rounds=0"),
    "quality/names.py": ("{repo}/..", "--questions={asked}/names", "--misses"),
    "quality/peers.py": ("{set}", "--most=3", "--peer=fts5"),
    "quality/redaction.py": ("{repo}",),
    "quality/replay.py": ("{repo}", "--moments=2", "--questions=3"),
    "quality/sessions.py": ("{talk}",),
    "quality/shares.py": ("{set}", "--model=aurora:shallow", "--most=3"),
    "quality/tokens.py": ("{repo}/..", "--questions={asked}/birds.json", "--misses"),
    "quality/transcripts.py": (f"--home={ROOT}/tests/sources/sessions/home", "--misses"),
    "quality/use.py": ("{repo}", "--count=3"),
    "speed/bm25_build.py": ("--chunks=200", "--rounds=1"),
    "speed/bm25_merge.py": ("--chunks=200", "--rounds=1"),
    "speed/million.py": ("--chunks=300",),
    "speed/branches.py": ("--files=3",),
    "speed/embedding.py": ("--provider=aurora:shallow", "--rounds=1", "--seconds=0.1"),
    "speed/freshness.py": ("--repo={repo}", "--rounds=1"),
    "speed/growth.py": ("--engines=words and meaning", "--sizes=2500", f"--texts={ROOT}/src"),
    "speed/history.py": ("--repo={repo}", "--sample=3"),
    "speed/hooks.py": ("--rounds=2",),
    "speed/indexing.py": ("--repo={repo}", "--sample=2"),
    "speed/memories.py": ("--chunks=200", "--rounds=1"),
    "speed/page.py": ("--sizes", "200", "--questions=2"),
    "speed/postgres.py": ("--sizes", "200", "--questions=3"),
    "speed/replicas.py": ("--chunks=100", "--clients=2", "--searches=2"),
    "speed/search.py": ("--sizes", "300", "--rounds=1"),
    "speed/server.py": ("--chunks=200", "--copied=150", "--questions=3", "--ingest=50"),
    "speed/sessions.py": ("--sessions=3",),
    "speed/vectors.py": ("--sizes", "2500", "--texts", f"{ROOT}/docs", f"{ROOT}/src"),
    "speed/warm.py": ("--repo={repo}", "--rounds=1", "--questions=3"),
    "speed/spreading.py": ("--rounds=1", "--aurora=80", "--onnx=0"),
    "speed/startup.py": ("--rounds=2",),
    "structure.py": (),
}
# These need what is not here, and say so.
REFUSALS: dict[str, tuple[Sequence[str], str]] = {
    "load/cluster.py": (("--hosts=1",), "at least two hosts"),
    "peers/original.py": (("--repo=nowhere",), "no repository of Flask"),
    "peers/answers/with_bm25s.py": ((), "JOB ANSWERS"),
    "peers/answers/with_fts5.py": ((), "JOB ANSWERS"),
    "peers/answers/with_lancedb.py": ((), "lancedb"),
    "peers/answers/with_model.py": ((), "JOB ANSWERS"),
    "peers/answers/with_semble.py": ((), "model2vec"),
    "questions/draw_names.py": ((), "FOLDER"),
    "speed/engines.py": ((), "first ENGINE FOLDER TEXT"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts beside links to what they read: results and caches stay out of the project."""
    folder = tmp_path_factory.mktemp("scripts")
    ignored = shutil.ignore_patterns("results", ".cache", "__pycache__")
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=ignored)
    (folder / "benchmarks" / "results").mkdir()
    for name in ("docs", "src", "tests", "training"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight commits of four files, each file with functions that have a docstring."""
    root = tmp_path_factory.mktemp("repository") / "birds"
    root.mkdir()
    git(root, "init", "--quiet")
    for number in range(8):
        name = ("heron", "stork", "crane", "egret")[number % 4]
        functions = (
            f'def {name}_{verb}_{n}(water):\n    """{verb.title()} where the {name} of the lake '
            f'number {n} likes to be."""\n    return water + {n}\n\n\n'
            for n in range(number + 2)
            for verb in ("wade", "fly")
        )
        write_tree(root, {f"{name}.py": "".join(functions), "notes.md": f"# Birds\n\n{name}\n"})
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", f"let the {name} of lake {number} wade and fly")
    return root


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *names, *words], cwd=folder, check=True)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve texts, and twelve questions of which some name a word that no text has."""
    words = "heron kettle stork river stove bridge candle harbour meadow violin anchor lantern"
    texts = [
        {"id": f"d{n}", "text": f"The {word} stands beside the old house, as the {n} of them do."}
        for n, word in enumerate(words.split())
    ]
    questions = [
        {"id": f"q{n}", "text": word if n % 3 else "what stands beside a house"}
        for n, word in enumerate(words.split())
    ]
    grades = [(f"q{n}", f"d{n}", 1) for n in range(len(texts))]
    return write_set(tmp_path_factory.mktemp("sets") / "things", texts, questions, grades)


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations of two sessions, with a question about each session."""
    folder = tmp_path_factory.mktemp("talk")
    texts = [
        {"id": f"{group}/{n}", "text": f"The {bird} waits by lake {n}.", "group": group, "seq": n,
         "session": f"s{n // 4}", "date": "2026-03-01"}
        for group, bird in (("a", "heron"), ("b", "stork")) for n in range(8)
    ]  # fmt: skip
    questions = [
        {
            "id": f"{text['id']}/q",
            "text": f"who waits by lake {text['seq']}",
            "group": text["group"],
        }
        for text in texts[::4]
    ]  # fmt: skip
    grades = [(f"{text['id']}/q", str(text["id"]), 1) for text in texts[::4]]
    for name in ("locomo", "beam_100k"):
        write_set(folder / name, texts, questions, grades)
    return folder


@pytest.fixture(scope="module")
def asked(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of questions about the repository, one that nothing there answers, and of names."""
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repo, text=True).strip()
    wades = {"path": "heron.py", "start": 1, "end": 3}
    questions = [
        {"kind": "symbol", "text": "heron_wade_0", "answers": [wades]},
        {"kind": "vague", "text": "violin", "answers": [wades]},
    ]
    given = {"repository": "lake/birds", "commit": commit, "questions": questions}
    folder = tmp_path_factory.mktemp("questions")
    text = json.dumps({**given, "unanswerable": ["blockchain"]})
    (folder / "birds.json").write_text(text, encoding="utf-8")
    place = [{"path": "heron.py", "line": 1}]
    names = [{"name": name, "kind": "function", "places": place} for name in ("heron_wade_0", "x")]
    (folder / "names").mkdir()
    text = json.dumps({"repository": "lake/birds", "commit": commit, "names": names})
    (folder / "names" / "birds.json").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def places(repo: Path, labelled: Path, asked: Path, talk: Path) -> dict[str, Path]:
    return {"repo": repo, "set": labelled, "asked": asked, "talk": talk}


def run(copy: Path, script: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return run_python(copy, [copy / "benchmarks" / script, *words])


def run_python(copy: Path, words: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", *words],
        cwd=copy,
        env={**os.environ, "AURORA_BENCHMARK_TINY": "1", "HOME": str(copy)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_every_script_is_run() -> None:
    assert sorted({*RUNS, *REFUSALS}) == SCRIPTS


# What all scripts import is imported once.
_START_EACH = """
import os, runpy, sys
import aurora.engine.memory, numpy
failed = []
for script in sys.argv[1:]:
    child = os.fork()
    if not child:
        sys.argv, sys.path[0] = [script, "--help"], os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(script)
sys.exit(" ".join(failed) or None)
"""


def test_every_script_starts(copy: Path) -> None:
    scripts = [str(copy / "benchmarks" / script) for script in RUNS]
    done = run_python(copy, ["-c", _START_EACH, *scripts])
    assert done.returncode == 0, done.stderr


@pytest.mark.timeout(1200)  # on a busy machine
@pytest.mark.parametrize("script", RUNS)
def test_a_script_runs_to_its_end(
    script: str, copy: Path, places: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    needs_model = any("{models}" in word for word in RUNS[script])
    models = request.getfixturevalue("models") if needs_model else ""
    words = [word.format(**places, models=models) for word in RUNS[script]]

    done = run(copy, script, words)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert done.stdout or done.stderr
    assert "Traceback" not in done.stderr
    for result in (copy / "benchmarks" / "results").glob("*.json"):
        assert json.loads(result.read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("script", REFUSALS)
def test_a_script_says_what_it_needs(script: str, copy: Path) -> None:
    words, message = REFUSALS[script]

    done = run(copy, script, words)

    assert done.returncode != 0
    assert message in done.stdout + done.stderr
