"""A real PostgreSQL with pgvector for a test: one data folder, one postmaster, no traces.

Tests that only need a database take the fixture `postgres_url`. One that stops or kills a server
makes its own: `with PostgresServer(durable=True) as server: …`.
"""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil
import psycopg

from tests.postgres.binaries import find_account, find_binaries
from tests.postgres.places import find_free_port, is_free, make_folder
from tests.postgres.processes import PATIENCE, Guard, lives, wait_until

USER = "postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # the path of a socket may be too long, and remains
    "max_connections": "100",
    "shared_buffers": "16MB",
    "max_wal_size": "128MB",
    "dynamic_shared_memory_type": "mmap",  # inside the data folder: gone with it after a kill too
    "timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] ",
}
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class PostgresServer:
    """A server on loopback, by password only. Its port stays the same when it starts again.

    A server that is not `durable` is quick, and may lose what was committed when it is killed.
    `settings` are read at every start. Without a folder it makes one that its account can reach
    (pytest's are closed to it when we are root), in memory where there is enough.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.account = find_account()
        self.folder = folder or make_folder()
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o700)
        self.account.own(self.folder)
        self.durable = durable
        self.settings = SETTINGS | ({} if durable else CARELESS) | dict(settings or {})
        self.password = secrets.token_hex(8)
        self.port = find_free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None
        self._has_run = False

    def __enter__(self) -> PostgresServer:
        try:
            if not self.running:
                self.start()
        except BaseException:
            self.close()
            raise
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

    def processes(self) -> list[psutil.Process]:
        """The postmaster first, then all that it started."""
        if self._process is None or not self.running:
            return []
        postmaster = psutil.Process(self._process.pid)
        return [postmaster, *postmaster.children(recursive=True)]

    def log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def read_state(self) -> list[str]:
        """What the postmaster writes of itself, a line each; a killed one leaves it behind."""
        try:
            lines = (self.folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [line.strip() for line in lines]

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
        self._end(signal.SIGINT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill(self) -> None:
        """What a power cut does to the processes: no goodbye to anybody."""
        if self._process is None:
            return
        self._dismiss_guard()
        if self.running:
            self._process.send_signal(signal.SIGSTOP)  # else it starts others while we look
        processes = self.processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        self._process = None
        wait_until(lambda: not any(map(lives, processes)), "end of its processes")
        wait_until(lambda: is_free(self.port), f"port {self.port} to be free")

    def close(self) -> None:
        """Ends it and removes its folder."""
        try:
            self._end(signal.SIGQUIT)  # nobody will read what it would still write
        finally:
            self._remove_segment()
            shutil.rmtree(self.folder, ignore_errors=True)

    def make_standby(
        self,
        folder: Path | None = None,
        *,
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> PostgresServer:
        """A hot standby of this server, started: it streams, and answers what only reads.

        `port` is that of a proxy between the two. The slot keeps what the standby has not had yet.
        """
        standby = PostgresServer(
            folder, durable=self.durable, settings=self.settings | dict(settings or {})
        )
        standby.password = self.password
        try:
            self.account.run(
                "pg_basebackup", "--write-recovery-conf", "--wal-method=stream", "--no-sync",
                "--checkpoint=fast", "--create-slot", f"--slot=standby_{standby.port}",
                f"--pgdata={standby.folder}", "--host=127.0.0.1", f"--port={port or self.port}",
                f"--username={USER}", folder=standby.folder, PGPASSWORD=self.password,
            )  # fmt: skip
            (standby.folder / "server.log").unlink(missing_ok=True)  # is the primary's
            standby.start()
        except BaseException:
            standby.close()
            raise
        return standby

    def catch_up(self, primary: PostgresServer) -> None:
        """Returns when this standby shows all that `primary` has committed by now."""
        mark = "SELECT pg_logical_emit_message(false, 'catch up', '', true)"  # at the log's end
        with psycopg.connect(primary.url()) as connection:
            place = connection.execute(mark).fetchone()
        replayed = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            wait_until(
                lambda: connection.execute(replayed, place).fetchone() == (True,), "catch up"
            )

    def promote(self) -> None:
        """Makes a primary of a standby. Returns when it takes writes."""
        self.account.run(
            "pg_ctl", "promote", f"--pgdata={self.folder}", f"--timeout={PATIENCE:.0f}",
            folder=self.folder,
        )  # fmt: skip

    def _initialise(self) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as password:
            password.write(self.password)
            password.flush()
            self.account.own(Path(password.name))
            self.account.run(
                "initdb", f"--pgdata={self.folder}", f"--username={USER}",
                f"--pwfile={password.name}", "--auth=scram-sha-256", "--encoding=UTF8",
                "--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync", "--no-instructions",
                "--set=scram_iterations=1",  # not a secret, and every connection would pay
                folder=self.folder,
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
                **self.account.surroundings(self.folder),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self._guard = Guard(process.pid, self.folder)
        wait_until(lambda: self._is_ready() or not self.running, "start")
        if self.running:
            return True
        self._dismiss_guard()
        self._process = None
        if "Address already in use" in self.log()[told:]:
            return False
        raise RuntimeError(f"PostgreSQL did not start in {self.folder}:\n{self.log()[told:]}")

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._dismiss_guard()
        self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None

    def _is_ready(self) -> bool:
        state = self.read_state()  # of a killed predecessor, maybe
        assert self._process is not None
        return state[:1] == [str(self._process.pid)] and state[7:] == ["ready"]

    def _remove_segment(self) -> None:
        """The few bytes of shared memory that a killed server leaves to the system."""
        for line in self.read_state()[6:7]:
            subprocess.run(["ipcrm", "-m", line.split()[-1]], check=False, capture_output=True)

    def _dismiss_guard(self) -> None:
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None
