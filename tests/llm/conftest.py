"""What the tests of language models share: a server and a clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.embeddings.clock import Clock
from tests.llm.chat_server import ChatServer


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()
