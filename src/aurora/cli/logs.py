"""The log file. Nothing is written, not even the folder, before there is something to say."""

from __future__ import annotations

import logging
from io import TextIOWrapper
from pathlib import Path

from aurora.private import make_file, make_folder

_BYTES, _FILES = 1_000_000, 3


class _LazyFile(logging.Handler):
    """Opens the rotating file with the first record; a place that cannot be written stays quiet."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self._path = path
        self._file: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._file is None:
                self._file = _open(self._path)
            self._file.emit(record)
        except OSError:
            self._file = logging.NullHandler()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


class _Discreet(logging.Formatter):
    """Neither a message nor a traceback carries a secret into the log, whatever the settings."""

    def format(self, record: logging.LogRecord) -> str:
        from aurora.redaction import Redactor

        return Redactor().text(super().format(record))


def log_to(path: Path) -> None:
    """Send Aurora's own log to a file, once."""
    logger = logging.getLogger("aurora")
    logger.setLevel(logging.INFO)
    logger.propagate = False  # never to the terminal: stdout is data, stderr is for people
    logging.raiseExceptions = False  # nor the traceback of a log that cannot be written
    if not any(isinstance(handler, _LazyFile) for handler in logger.handlers):
        logger.addHandler(_LazyFile(path))


def _open(path: Path) -> logging.Handler:
    from logging.handlers import RotatingFileHandler

    class OwnersFile(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            make_file(path)  # what it is written to, and what it becomes when that is full
            return super()._open()

    make_folder(path.parent)
    handler = OwnersFile(
        path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler
