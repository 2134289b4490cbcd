"""What several tests need and is made once for all of them: models, a PostgreSQL server."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import tiers
from tests.backends import BACKENDS
from tests.properties import PHASES, USUAL, examples
from tests.scratch import folder_in_memory

if TYPE_CHECKING:
    from aurora.embeddings.onnx import OnnxProvider
    from tests.postgres.databases import Databases
    from tests.postgres.server import PostgresServer

TESTS = Path(__file__).parent

# Time is no property of what is tested.
settings.register_profile("aurora", deadline=None, max_examples=examples(USUAL), phases=PHASES)
settings.load_profile("aurora")

# A shell starts background jobs with SIGINT ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests write much and wait for the disk each time: in memory they take an eighth less.
if "TMPDIR" not in os.environ and (folder := folder_in_memory()):
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The core does not read files that are all of another tier, Windows none for POSIX."""
    if not collection_path.is_relative_to(TESTS):
        return None
    is_file = collection_path.suffix == ".py"
    if sys.platform == "win32" and is_file and tiers.needs_posix(collection_path):
        return True
    path = collection_path.relative_to(TESTS).as_posix() + "/" * collection_path.is_dir()
    return tiers.is_left_out(path, config.getoption("markexpr")) or None


@pytest.hookimpl(tryfirst=True)  # before pytest selects by mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tiers. The longest tests start first: one that starts last keeps a core idle."""
    for item in items:
        tiers.mark(item)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """What is collected stays until the end: every look for garbage would go through all of it."""
    gc.collect()
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What asks for `backend`, by whatever way, is run on both; but what is about one store."""
    if "backend" not in metafunc.fixturenames:
        return
    if metafunc.definition.get_closest_marker("one_store") is None:
        metafunc.parametrize("backend", BACKENDS)


@pytest.fixture
def backend() -> str:
    """Where the memory of a test is kept: here the only place for those about one store."""
    return "sqlite"


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with one in it, the same for all workers. No test changes it."""
    from tests.embeddings.models import install_model

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # pytest-xdist
    install_model(shared / "models")
    return shared / "models"


@pytest.fixture(scope="session")
def onnx_provider(models: Path) -> OnnxProvider:
    from aurora.embeddings.base import ProviderOptions
    from aurora.embeddings.onnx import OnnxProvider

    return OnnxProvider(ProviderOptions(models=models))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of this process. Nobody may stop it: that is for `own_postgres`."""
    from tests.postgres.server import PostgresServer

    with PostgresServer() as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that the test may stop and kill, and that keeps what was committed."""
    from tests.postgres.server import PostgresServer

    with PostgresServer(durable=True) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_databases(postgres: PostgresServer) -> Iterator[Databases]:
    from tests.postgres.databases import Databases

    databases = Databases(postgres)
    yield databases
    databases.close()


@pytest.fixture
def postgres_url(postgres_databases: Databases) -> Iterator[str]:
    """The address of a fresh database with pgvector."""
    with postgres_databases.fresh() as url:
        yield url


@pytest.fixture
def memory_url(postgres_databases: Databases) -> Iterator[str]:
    """The same with the tables of a memory in it."""
    with postgres_databases.memory() as url:
        yield url
