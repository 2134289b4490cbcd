"""Work goes to other processes and comes back in order; who dies there costs nothing."""

from __future__ import annotations

import multiprocessing
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from aurora.config.schema import IndexingSettings
from aurora.embeddings.base import EmbeddingProvider
from aurora.engine.opening import find_elsewhere
from aurora.errors import ClusterError
from aurora.indexing.embedding import Embedded, RemoteEmbedder, embed_missing
from aurora.indexing.ray import AHEAD, InProcess, LocalProcesses, RayCluster, Spreader
from aurora.stores.sqlite.store import SQLiteStore
from aurora.types import Event, Progress
from tests.builders import make_chunk, write_tree
from tests.cli.conftest import Shell
from tests.indexing import promises, work
from tests.indexing.providers import VowelProvider, failing_for
from tests.indexing.test_embedding import made_of, vectors

ROOT = Path(__file__).parents[2]
TWO = LocalProcesses(2)
SPREADERS = pytest.mark.parametrize(
    ("spreader", "ahead"), [(InProcess(), 0), (TWO, 2 * AHEAD)], ids=["here", "two"]
)
MANY = 400  # chunks: a hundred batches of the provider, enough to be worth other processes


@pytest.fixture
def many(store: SQLiteStore) -> SQLiteStore:
    store.chunks.put_chunks(
        [make_chunk(name=f"f{n}", content=f"pie {n} " + "o" * n, path="1.py") for n in range(MANY)]
    )
    return store


@SPREADERS
def test_results_come_in_the_order_of_the_batches(spreader: Spreader, ahead: int) -> None:  # noqa: ARG001
    promises.require_order(spreader)


@SPREADERS
def test_endless_work_is_taken_bit_by_bit(spreader: Spreader, ahead: int) -> None:
    promises.require_lazy(spreader, ahead=ahead)


@SPREADERS
def test_what_is_raised_there_is_raised_here_in_its_turn(spreader: Spreader, ahead: int) -> None:  # noqa: ARG001
    promises.require_errors_in_their_turn(spreader)


def test_it_is_other_processes_that_work_and_none_stays() -> None:
    workers = set(TWO.map_batches(work.tell_process, [[0]] * 40))
    assert os.getpid() not in workers
    assert 1 <= len(workers) <= 2
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("deaths", [1, 2])
def test_what_a_killed_worker_held_is_done_again(tmp_path: Path, deaths: int) -> None:
    for number in range(deaths):
        (tmp_path / str(number)).touch()
    batches = [[number] for number in range(20)]
    assert list(TWO.map_batches(work.DieOnce(tmp_path), batches)) == list(map(work.double, batches))
    assert list(tmp_path.iterdir()) == []


def test_work_that_kills_whoever_does_it_ends_with_an_error(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).touch()
    made = TWO.map_batches(work.DieOnce(tmp_path), [[number] for number in range(20)])
    with pytest.raises(ClusterError, match="died 3 times in a row"):
        list(made)
    assert multiprocessing.active_children() == []


SCRIPT = """
import sys
print("begin", flush=True)
from aurora.indexing.ray import LocalProcesses
from tests.indexing.work import tell_process
for pid in LocalProcesses(2).map_batches(tell_process, iter(lambda: [0], None)):
    print(pid, flush=True)
    if not sys.stdin.readline():
        break
"""


def start_script(tmp_path: Path) -> subprocess.Popen[str]:
    """A program that spreads work without the `__main__` idiom, a batch for each line it reads."""
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, tmp_path / "script.py"],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_script_without_the_main_idiom_is_not_run_again(tmp_path: Path) -> None:
    with start_script(tmp_path) as script:
        told, _ = script.communicate("go on\n" * 9)
    assert script.returncode == 0
    assert told.split().count("begin") == 1
    assert len(told.split()) == 11


def test_workers_end_with_who_started_them(tmp_path: Path) -> None:
    with start_script(tmp_path) as script:
        assert script.stdin is not None
        assert script.stdout is not None
        script.stdout.readline()
        worker = int(script.stdout.readline())
        ended = os.pidfd_open(worker)
        script.send_signal(signal.SIGKILL)
    try:
        assert select.select([ended], [], [])[0] == [ended]
    finally:
        os.close(ended)


def test_many_vectors_are_made_elsewhere_and_are_the_same(
    many: SQLiteStore, tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    here = VowelProvider()
    told: list[Event] = []
    elsewhere = RemoteEmbedder(TWO, partial(work.ProcessProvider, folder=traces))

    assert embed_missing(many, here, elsewhere=elsewhere, listen=told.append) == Embedded(MANY)

    assert here.asked == []
    assert os.getpid() not in {int(trace.name) for trace in traces.iterdir()}
    assert vectors(many) == made_of(many)
    assert told == [Progress("Embedding", done, MANY) for done in range(4, MANY + 1, 4)]


def test_few_vectors_are_made_here(store: SQLiteStore) -> None:
    """Before another process had started they are done."""
    store.chunks.put_chunks(
        [make_chunk(name=f"f{number}", path="1.py") for number in range(4 * 39)]
    )
    elsewhere = RemoteEmbedder(TWO, work.no_model)
    assert embed_missing(store, VowelProvider(), elsewhere=elsewhere) == Embedded(4 * 39)


def test_one_text_that_fails_there_is_tried_here_and_named(many: SQLiteStore) -> None:
    here = failing_for("f7\n")
    elsewhere = RemoteEmbedder(TWO, partial(work.failing, "f7\n"))

    embedded = embed_missing(many, here, elsewhere=elsewhere)

    warning = "Failed to generate embedding for chunk 1.py:f7: model is away"
    assert embedded == Embedded(MANY, 1, (warning,))
    assert [len(texts) for texts in here.asked] == [1] * 4  # the four of its batch, each alone
    assert vectors(many).keys() == made_of(many).keys() - {"1.py:f7"}


def test_ten_failures_in_a_row_end_it(many: SQLiteStore) -> None:
    here = failing_for("pie")
    embedded = embed_missing(
        many, here, elsewhere=RemoteEmbedder(TWO, partial(work.failing, "pie"))
    )
    assert (embedded.failed, embedded.gave_up, len(here.asked)) == (MANY, True, 10)
    assert len(embedded.warnings) == 11
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (work.no_model, "nothing can be embedded: There is no model vowels: get it"),
        (work.another_version, "the model is vowels (2), not vowels (1)"),
    ],
    ids=["missing", "another"],
)
def test_a_model_that_is_not_the_same_there_is_told_and_all_is_made_here(
    many: SQLiteStore, make: Callable[[], EmbeddingProvider], reason: str
) -> None:
    embedded = embed_missing(many, VowelProvider(), elsewhere=RemoteEmbedder(TWO, make))
    (warning,) = embedded.warnings
    assert reason in warning
    assert warning.endswith("What was left was embedded here")
    assert embedded == Embedded(MANY, warnings=(warning,))
    assert vectors(many) == made_of(many)


def test_a_chunk_that_changes_while_it_is_away_gets_no_old_vector(many: SQLiteStore) -> None:
    changed = make_chunk(
        name="f5", content="aaa", path="1.py"
    )  # of the second batch, which is away by then

    def change(event: Event) -> None:
        if event == Progress("Embedding", 4, MANY):
            many.chunks.put_chunks([changed])
            many.chunks.delete_chunks(["1.py:f6"])

    elsewhere = RemoteEmbedder(TWO, VowelProvider)
    embedded = embed_missing(many, VowelProvider(), elsewhere=elsewhere, listen=change)

    assert embedded == Embedded(MANY - 2)
    assert vectors(many).keys() == made_of(many).keys() - {"1.py:f5"}
    assert embed_missing(many, VowelProvider()) == Embedded(1)
    assert vectors(many) == made_of(many)


def test_what_was_made_before_an_interruption_is_kept(many: SQLiteStore) -> None:
    def interrupt(event: Event) -> None:
        if event == Progress("Embedding", 80, MANY):
            raise KeyboardInterrupt

    elsewhere = RemoteEmbedder(TWO, VowelProvider)
    with pytest.raises(KeyboardInterrupt):
        embed_missing(many, VowelProvider(), elsewhere=elsewhere, listen=interrupt)

    assert len(vectors(many)) == 80
    assert multiprocessing.active_children() == []
    assert embed_missing(many, VowelProvider()) == Embedded(MANY - 80)
    assert vectors(many) == made_of(many)


def test_the_settings_choose_who_helps() -> None:
    assert find_elsewhere(IndexingSettings(), VowelProvider) is None
    assert find_elsewhere(IndexingSettings(workers=3), VowelProvider) == RemoteEmbedder(
        LocalProcesses(3), VowelProvider
    )
    both = IndexingSettings(workers=3, ray="x:6379")
    assert find_elsewhere(both, VowelProvider) == RemoteEmbedder(
        RayCluster("x:6379"), VowelProvider
    )


@pytest.mark.long
def test_an_index_by_two_processes_is_that_of_one(tmp_path: Path) -> None:
    """The real `aur`, with as many chunks as the default model is spread for."""
    functions = "".join(f"def f{n}(word):\n    return 'file', {n}\n\n\n" for n in range(160))
    root = write_tree(tmp_path / "project", {f"m{n}.py": functions for n in range(65)})

    def index(**environ: str) -> tuple[str, dict[str, bytes]]:
        shell = Shell(root, tmp_path / "user" / "home", environ)
        shell.ok("init")
        done = shell.run("mem", "index", "--no-git")
        with closing(SQLiteStore(root / ".aurora" / "memory.db")) as store:
            found = dict(
                store.vectors.get_embeddings([chunk.id for chunk in store.chunks.iter_chunks()])
            )
        shutil.rmtree(root / ".aurora")
        assert len(found) == 65 * 160 >= 40 * 256
        return done.stdout + done.stderr, found

    said, by_one = index(AURORA_INDEXING_RAY="127.0.0.1:1")  # a cluster that is away
    assert "cluster" in said
    said, by_two = index(AURORA_INDEXING_WORKERS="2")
    assert "embedded here" not in said
    assert by_one == by_two
