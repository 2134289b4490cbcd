"""A real PostgreSQL with pgvector for a test: one data folder, one postmaster, no traces.

Tests that only need a database take the fixture `postgres_url`. One that stops or kills a server
makes its own: `with PostgresServer(durable=True) as server: …`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil

from tests.postgres.binaries import find_account, find_binaries
from tests.postgres.ports import find_free_port, is_free

USER = "postgres"
PATIENCE = 60.0  # seconds until a server that neither starts nor ends is an error
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # the path of a socket may be too long, and remains
    "max_connections": "100",
    "shared_buffers": "16MB",
    "dynamic_shared_memory_type": "mmap",  # inside the data folder: gone with it after a kill too
    "timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] ",
}
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# Waits until our end of the pipe is closed, however we ended, and then ends the server.
GUARD = """
cat; kill -QUIT "$1"
for second in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" || break; sleep 1; done
rm -rf "$2"
"""


class PostgresServer:
    """A server on loopback, by password only. Its port stays the same when it starts again.

    A server that is not `durable` is quick, and may lose what was committed when it is killed.
    `settings` are read at every start. Without a folder it makes one that its account can reach
    (root's temporary folders are closed to it).
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.account = find_account()
        self.folder = folder or Path(tempfile.mkdtemp(prefix="aurora-postgres-"))
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o700)
        self.account.own(self.folder)
        self.durable = durable
        self.settings = SETTINGS | ({} if durable else CARELESS) | dict(settings or {})
        self.password = secrets.token_hex(8)
        self.port = find_free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._has_run = False

    def __enter__(self) -> PostgresServer:
        if not self.running:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def url(self, database: str = "postgres", *, port: int | None = None, **params: str) -> str:
        """Where a client finds it. `port` is that of a proxy in front of it."""
        query = f"?{urlencode(params, quote_via=quote)}" if params else ""
        host = f"127.0.0.1:{port or self.port}"
        return f"postgresql://{USER}:{self.password}@{host}/{quote(database)}{query}"

    def log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def start(self) -> None:
        """Returns when it accepts connections."""
        assert not self.running, f"{self.folder} is being served already"
        if not (self.folder / "PG_VERSION").exists():
            self._initialise()
        while not self._launch():  # somebody was quicker to take the port
            if self._has_run:
                raise RuntimeError(f"port {self.port} was taken while the server was down")
            self.port = find_free_port()
        self._has_run = True

    def stop(self) -> None:
        """The fast way: transactions are rolled back, connections ended, everything written."""
        if self._process is None:
            return
        self._dismiss_guard()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """What a power cut does to the processes: no goodbye to anybody."""
        if self._process is None:
            return
        self._dismiss_guard()
        with suppress(psutil.NoSuchProcess):
            postmaster = psutil.Process(self._process.pid)
            postmaster.suspend()  # else it starts others while we look
            family = postmaster.children(recursive=True)
            for process in (*family, postmaster):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            _wait_until(lambda: not any(map(_lives, family)), "end of its processes")
        self._process.wait()
        self._process = None
        _wait_until(lambda: is_free(self.port), f"port {self.port} to be free")

    def close(self) -> None:
        """Ends it and removes its folder."""
        try:
            self.stop()
        finally:
            self._remove_segment()
            shutil.rmtree(self.folder, ignore_errors=True)

    def make_standby(
        self, folder: Path | None = None, *, settings: Mapping[str, str] | None = None
    ) -> PostgresServer:
        """A hot standby of this server, started: it streams, and answers what only reads."""
        standby = PostgresServer(
            folder, durable=self.durable, settings=self.settings | dict(settings or {})
        )
        standby.password = self.password
        try:
            standby._run(
                "pg_basebackup", "--write-recovery-conf", "--wal-method=stream", "--no-sync",
                "--checkpoint=fast", f"--pgdata={standby.folder}", "--host=127.0.0.1",
                f"--port={self.port}", f"--username={USER}", PGPASSWORD=self.password,
            )  # fmt: skip
            (standby.folder / "server.log").unlink(missing_ok=True)  # is the primary's
            standby.start()
        except BaseException:
            standby.close()
            raise
        return standby

    def promote(self) -> None:
        """Makes a primary of a standby. Returns when it takes writes."""
        self._run("pg_ctl", "promote", f"--pgdata={self.folder}", f"--timeout={PATIENCE:.0f}")

    def _initialise(self) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as password:
            password.write(self.password)
            password.flush()
            self.account.own(Path(password.name))
            self._run(
                "initdb", f"--pgdata={self.folder}", f"--username={USER}",
                f"--pwfile={password.name}", "--auth=scram-sha-256", "--encoding=UTF8",
                "--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync", "--no-instructions",
                "--set=scram_iterations=1",  # not a secret, and every connection would pay
            )  # fmt: skip

    def _launch(self) -> bool:
        """Whether it could have its port."""
        settings = self.settings | {"port": str(self.port)}
        lines = (f"{name} = '{value}'\n" for name, value in settings.items())
        (self.folder / "postgresql.conf").write_text("".join(lines), encoding="utf-8")
        told = len(self.log())
        with (self.folder / "server.log").open("ab") as log:
            self._process = process = subprocess.Popen(
                [find_binaries() / "postgres", "-D", self.folder],
                **self._surroundings(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", str(process.pid), self.folder],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        _wait_until(lambda: self._is_ready() or not self.running, "start")
        if self.running:
            return True
        self._dismiss_guard()
        self._process = None
        if "Address already in use" in self.log()[told:]:
            return False
        raise RuntimeError(f"PostgreSQL did not start in {self.folder}:\n{self.log()[told:]}")

    def _is_ready(self) -> bool:
        state = self._read_state()
        assert self._process is not None
        return state[:1] == [str(self._process.pid)] and state[7:] == ["ready"]

    def _read_state(self) -> list[str]:
        """What the postmaster writes of itself, a line each; a killed one leaves it behind."""
        try:
            lines = (self.folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [line.strip() for line in lines]

    def _remove_segment(self) -> None:
        """The few bytes of shared memory that a killed server leaves to the system."""
        for line in self._read_state()[6:7]:
            subprocess.run(["ipcrm", "-m", line.split()[-1]], check=False, capture_output=True)

    def _dismiss_guard(self) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.kill()
            self._guard.wait()
            self._guard.stdin.close()
            self._guard = None

    def _run(self, program: str, *arguments: str, **environment: str) -> None:
        command = [find_binaries() / program, *arguments]
        done = subprocess.run(
            command,
            **self._surroundings(**environment),
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed in {self.folder}:\n{done.stderr or done.stdout}")

    def _surroundings(self, **environment: str) -> dict[str, object]:
        # What the caller set for its own PostgreSQL (PGPORT, PGDATA, PGOPTIONS …) is not for ours.
        own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        env = own | {"LC_ALL": "C"} | environment
        return {"env": env, "cwd": self.folder, **self.account.arguments()}


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE  # nobody may be there to bury it
    except psutil.NoSuchProcess:
        return False


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE:.0f} s for PostgreSQL: {what}")
        time.sleep(0.01)
