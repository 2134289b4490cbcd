"""The checks of the soak see what they are there for: each fails when that is done on purpose."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.packing import pack_vector
from tests.concurrency.doors import Engine
from tests.concurrency.ending import require_known, require_whole
from tests.concurrency.hands import Hand
from tests.concurrency.watchdog import Watchdog

Sabotage = Callable[[Memory, str], object]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "project").mkdir()
    with Memory(Places(tmp_path / "home", tmp_path / "project")) as memory:
        yield memory


@pytest.fixture
def hand(memory: Memory, tmp_path: Path) -> Hand:
    """It has kept one document and forgotten another."""
    hand = Hand("one", Engine(memory, tmp_path), random.Random(7), lambda *_: None)  # noqa: S311
    for deed in ("keep", "forget", "keep", "read", "find", "read gone", "find gone", "audit"):
        hand._do(deed)
    assert hand.faults == []
    return hand


def drop(memory: Memory, id_: str) -> None:
    memory.admin.store.chunks.delete_chunks([id_])


def spoil_a_piece(memory: Memory, id_: str) -> None:
    [piece] = memory.admin.store.chunks.get_chunks([f"{id_}@2"])
    memory.admin.store.chunks.put_chunks(
        [replace(piece, content="Another version, abcdefghijklmn")]
    )


def spoil_a_vector(memory: Memory, id_: str) -> None:
    owner = memory.admin.store.vectors.embedder()
    assert owner is not None
    memory.admin.store.vectors.put_embeddings(owner, [(id_, pack_vector([1.0] + [0.0] * 255))])


def test_a_memory_that_is_as_it_was_told_passes(memory: Memory, hand: Hand) -> None:
    require_known(memory, [hand.known])
    require_whole(memory)


@pytest.mark.parametrize("sabotage", [drop, spoil_a_piece])
def test_a_lost_or_half_document_is_noticed(memory: Memory, hand: Hand, sabotage: Sabotage) -> None:
    [id_] = hand.known.kept
    sabotage(memory, id_)
    with pytest.raises(AssertionError, match=id_):
        require_known(memory, [hand.known])
    for deed in ("read", "audit"):
        hand._do(deed)
    assert len(hand.faults) == 2


def test_what_comes_back_is_noticed(memory: Memory, hand: Hand) -> None:
    [(id_, word)] = hand.known.gone.items()
    [kept] = memory.admin.store.chunks.get_chunks(list(hand.known.kept))
    memory.admin.store.chunks.put_chunks([replace(kept, id=id_, content=f"It is back: {word}")])
    with pytest.raises(AssertionError, match="forgotten"):
        require_known(memory, [hand.known])
    for deed in ("read gone", "find gone"):
        hand._do(deed)
    assert len(hand.faults) == 2


def test_a_vector_of_another_text_is_noticed(memory: Memory, hand: Hand) -> None:
    [id_] = hand.known.kept
    spoil_a_vector(memory, id_)
    with pytest.raises(AssertionError, match=id_):
        require_whole(memory)


def test_a_standstill_is_noticed_and_every_thread_is_named() -> None:
    with pytest.raises(AssertionError, match=r"Nothing ended for 0\.01 s(.|\n)*test_checks\.py"):
        Watchdog(0.01).wait(lambda: False, [])
    Watchdog(0.01).wait(lambda: True, [os.getpid()])
