"""A server of the project answers its hooks over a socket; in any doubt a hook does it itself."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.config.places import FOLDER
from aurora.errors import NoMemoryError
from aurora.hooks import client
from aurora.hooks.local_server import answering_hooks
from tests.builders import note_as_own
from tests.cli.conftest import AUR, Shell
from tests.hooks.conftest import LESSON, Shop, text_of
from tests.hooks.events import ENDS, STARTS, Sent, all_events

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no Unix sockets")


@pytest.fixture
def shop(once_learnt: Path) -> Iterator[Shop]:
    """The project in a folder with a short name: the path of a socket is."""
    with tempfile.TemporaryDirectory(prefix="a") as folder:
        shutil.copytree(once_learnt, folder, dirs_exist_ok=True)
        shell = Shell(Path(folder, "project"), Path(folder, "user", "home"))
        note_as_own(shell.home, shell.cwd / FOLDER / "memory.db")
        yield Shop(shell)


def socket_of(shop: Shop) -> Path:
    return shop.folder / ".aurora" / client.RUN_FOLDER / client.SOCKET


def start(shop: Shop, session: str = "s") -> Sent:
    sent = next(sent for sent in all_events(shop.folder) if sent.event in STARTS)
    return sent._replace(payload={**sent.payload, "session_id": session})


@contextmanager
def serving(shop: Shop, **variables: str) -> Iterator[list[Places]]:
    """A server in this process; yields the places that it was asked about."""
    asked = list[Places]()
    environ = {**shop.shell.environment, **variables}
    with shop.memory() as memory:

        def open_memory(places: Places) -> Memory:
            asked.append(places)
            if places != memory.places:
                raise NoMemoryError("another memory")
            return memory

        with answering_hooks({memory.places.memory_folder: open_memory}, environ):
            yield asked


def ask(shop: Shop, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What the client is answered by a server, if it is."""
    for name in [name for name in os.environ if name.startswith("AURORA_")]:
        monkeypatch.delenv(name)
    for name, value in shop.shell.environment.items():
        monkeypatch.setenv(name, value)
    folder = client.working_folder(sent.payload)
    return client._ask_server(sent.agent, sent.event, sent.payload, folder)


def test_a_server_answers(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(shop):
        assert stat.S_IMODE(socket_of(shop).stat().st_mode) == 0o600
        answer = ask(shop, start(shop), monkeypatch)
        assert answer is not None
        assert LESSON in text_of(answer)
        assert ask(shop, start(shop), monkeypatch) == ""
        below = start(shop, "other")._replace(agent="codex", event="SessionStart")
        (shop.folder / "src").mkdir()
        below.payload["cwd"] = str(shop.folder / "src")
        assert LESSON in (ask(shop, below, monkeypatch) or "")
    assert not socket_of(shop).exists()
    assert ask(shop, start(shop), monkeypatch) is None


def test_an_end_is_answered_before_the_session_is_read(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(shop):
        ends = [sent for sent in all_events(shop.folder) if sent.event in ENDS][:3]
        assert [ask(shop, sent, monkeypatch) for sent in ends] == ["", "", ""]
        until = time.monotonic() + 30
        while len(shop.log()) < 3 and time.monotonic() < until:
            threading.Event().wait(0.01)
    assert {record.moment for record in shop.log()} == {"follow"}


def test_a_server_with_other_settings_does_not_answer(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(shop, AURORA_HOOKS_BUDGET="200"):
        assert ask(shop, start(shop), monkeypatch) is None
    with serving(shop):
        monkeypatch.setattr(client, "PROTOCOL", 0)
        assert ask(shop, start(shop), monkeypatch) is None


def test_a_server_does_not_answer_for_another_memory(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of a worktree, which has the folder but other rows."""
    with serving(shop) as asked:
        inner = shop.folder / "inner"
        (inner / ".aurora" / client.RUN_FOLDER).mkdir(parents=True)
        (inner / ".aurora" / client.RUN_FOLDER / client.SOCKET).symlink_to(socket_of(shop))
        sent = start(shop)
        sent.payload["cwd"] = str(inner)
        assert ask(shop, sent, monkeypatch) is None
        assert asked == []


def test_the_first_server_has_the_socket(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(shop) as first, serving(shop) as second:
        assert ask(shop, start(shop), monkeypatch)
        assert (len(first) > 0, second) == (True, [])
    with serving(shop):
        assert ask(shop, start(shop, "new"), monkeypatch)


def test_what_a_killed_server_left_is_replaced(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    socket_of(shop).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_of(shop)))
    assert ask(shop, start(shop), monkeypatch) is None
    with serving(shop):
        assert ask(shop, start(shop), monkeypatch)


def test_a_server_that_stands_still_is_not_waited_for(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket_of(shop).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as still:
        still.bind(str(socket_of(shop)))
        still.listen()
        assert ask(shop, start(shop), monkeypatch) is None


@pytest.mark.parametrize("words", [b"", b"junk", b'{"protocol": 1}', b"[1]"])
def test_junk_from_a_server_is_no_answer(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, words: bytes
) -> None:
    socket_of(shop).parent.mkdir()

    def reply() -> None:
        call, _ = listener.accept()
        with call:
            while call.recv(1 << 16):
                pass
            call.sendall(words)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_of(shop)))
        listener.listen()
        thread = threading.Thread(target=reply)
        thread.start()
        assert ask(shop, start(shop), monkeypatch) is None
        thread.join()


@pytest.mark.parametrize(
    "words",
    [b"", b"junk\n", b"[]", b'{"protocol": 1}', b"\xff" * 100_000],
    ids=["nothing", "junk", "list", "little", "much"],
)
def test_junk_for_a_server_is_no_end(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, words: bytes
) -> None:
    with serving(shop):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(socket_of(shop)))
            caller.sendall(words)
            caller.shutdown(socket.SHUT_WR)
            assert caller.recv(100) == b""
        assert ask(shop, start(shop), monkeypatch)


def test_a_path_that_is_too_long_has_no_socket(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    long = shop.folder.with_name("p" * 90)
    shop.folder.rename(long)
    moved = Shop(Shell(long, shop.home))
    with serving(moved):
        assert not socket_of(moved).exists()
        assert ask(moved, start(moved), monkeypatch) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_socket_of_another_user_is_not_asked(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(shop):
        os.chown(socket_of(shop), 12345, 12345)
        assert ask(shop, start(shop), monkeypatch) is None


@pytest.mark.full
def test_the_program_is_answered_by_aur_mcp(shop: Shop) -> None:
    """The socket is gone when the server was ended; the hook goes on by itself when it was
    killed."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(
            [AUR, "mcp"],
            cwd=shop.folder,
            env=shop.shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as server:
            while not socket_of(shop).exists():
                assert server.poll() is None
                threading.Event().wait(0.05)
            assert LESSON in text_of(shop.send(start(shop, f"s{ending}")))
            server.send_signal(ending)
            server.wait()
        assert socket_of(shop).exists() is (ending is signal.SIGKILL)
    assert LESSON in text_of(shop.send(start(shop, "last")))
    assert shop.log()[-1].rows == 1


def test_a_link_to_the_socket_of_another_project_gets_no_answer(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a clone could prepare it: the server knows that it was not opened for this folder."""
    with serving(shop) as asked:
        clone = shop.folder.with_name("clone")
        (clone / ".aurora").mkdir(parents=True)
        (clone / ".aurora" / client.RUN_FOLDER).symlink_to(socket_of(shop).parent)
        sent = start(shop)
        sent.payload["cwd"] = str(clone)
        assert ask(shop, sent, monkeypatch) is None
        assert [places.project for places in asked] == [clone]
