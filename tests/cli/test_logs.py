"""The log file: written when there is something to say, never on the terminal, never endless."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora.cli import session as logs

pytestmark = pytest.mark.one_store("about the log")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """Aurora's own logger, put back as it was."""
    aurora = logging.getLogger("aurora")
    before = (aurora.level, aurora.propagate, list(aurora.handlers))
    aurora.handlers.clear()
    yield aurora
    for handler in aurora.handlers:
        handler.close()
    aurora.level, aurora.propagate, aurora.handlers[:] = before


def test_nothing_is_made_before_there_is_something_to_say(
    logger: logging.Logger, tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "aurora.log"
    logs.log_to(path)
    logger.debug("too fine to keep")
    assert not path.parent.exists()
    logger.warning("kept")
    assert path.read_text(encoding="utf-8").endswith(" WARNING aurora: kept\n")


@pytest.mark.usefixtures("logger")
def test_nothing_reaches_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logs.log_to(tmp_path / "aurora.log")
    logging.getLogger("aurora.somewhere").error("only in the file")
    assert capfd.readouterr() == ("", "")


def test_the_file_is_turned_over_before_it_grows_large(
    logger: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_BYTES", 1000)
    logs.log_to(tmp_path / "aurora.log")
    for number in range(200):
        logger.warning("line %d", number)
    names = {"aurora.log", "aurora.log.1", "aurora.log.2", "aurora.log.3"}
    assert {file.name for file in tmp_path.iterdir()} == names
    assert all(file.stat().st_size <= 1000 for file in tmp_path.iterdir())


def test_a_place_that_cannot_be_written_stays_quiet(
    logger: logging.Logger, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    logs.log_to(tmp_path / "file" / "aurora.log")
    logger.error("lost")
    assert capfd.readouterr() == ("", "")


def test_one_file_however_often_asked_for(logger: logging.Logger, tmp_path: Path) -> None:
    logs.log_to(tmp_path / "aurora.log")
    logs.log_to(tmp_path / "aurora.log")
    logger.warning("once")
    assert (tmp_path / "aurora.log").read_text(encoding="utf-8").count("once") == 1


def test_a_name_of_any_bytes_is_logged(
    logger: logging.Logger, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logs.log_to(tmp_path / "aurora.log")
    logger.error("bad \udcff name")
    assert "bad \\udcff name" in (tmp_path / "aurora.log").read_text(encoding="utf-8")
    assert capfd.readouterr() == ("", "")
