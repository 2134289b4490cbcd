"""An index into PostgreSQL with a Ray cluster of several hosts, one of which dies.

    python benchmarks/load/cluster.py [--chunks 10000] [--hosts 3]

Needs root and `ip` (iproute2): every host is a network namespace of this machine with an address of
its own on a bridge that leads nowhere else. The first host indexes and is the head of the cluster;
each host has one processor. The files are those of Python's own library.

    here            `aur mem index` without a cluster
    N hosts         with the cluster
    one host lost   with the cluster; the last host is killed when its first vectors have arrived

Each way writes into a schema and a home of its own, so that nothing is taken from a cache. Its
chunks must be those of the first way, and so must its vectors: `same` counts those with equal
bytes, `least` is the smallest cosine of a pair. All hosts share the processors of this machine, so
the seconds show what a cluster costs, not what it brings. A run with at least 10,000 chunks and
three hosts writes benchmarks/results/cluster-<commit>.json.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import record  # noqa: E402
from load.servers import AUR, environment  # noqa: E402
from speed import startup  # noqa: E402

from aurora.packing import unpack_vector  # noqa: E402
from tests.indexing.ray_nodes import Node, head_words  # noqa: E402
from tests.postgres.server import PostgresServer  # noqa: E402

WHOLE_RUN = (10_000, 3)  # chunks and hosts
BRIDGE, NETWORK, PORT = "aurora-lan", "10.77.0", 6379
Vectors = dict[str, bytes | None]  # by the id of a chunk


@dataclass(frozen=True, slots=True)
class Way:
    """One index run: its seconds, and what it stored beside what the first one did."""

    name: str
    seconds: float
    chunks: int
    vectors: int
    same: int
    least: float


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--chunks", type=int, default=WHOLE_RUN[0])
    options.add_argument("--hosts", type=int, default=WHOLE_RUN[1])
    given = options.parse_args()
    if given.hosts < 2:
        options.error("a cluster has at least two hosts")
    startup.CHUNKS = given.chunks
    with tempfile.TemporaryDirectory(prefix="cluster-") as folder:
        Path(folder).chmod(0o755)  # the server has a user of its own
        project = Path(folder, "project")
        startup.copy_library(project)
        with socket_server(Path(folder, "server")) as server:
            ways = list(measure(server, project, given.hosts))
    for way in ways:
        print(way)
    if given.chunks >= WHOLE_RUN[0] and given.hosts >= WHOLE_RUN[1]:
        record.save("cluster", {"ways": list(map(asdict, ways))}, packages=["ray", "psycopg"])


def socket_server(folder: Path) -> PostgresServer:
    """A server that hosts reach over a socket file: they have no common loopback."""
    return PostgresServer(folder, settings={"unix_socket_directories": str(folder)})


def url_of(server: PostgresServer) -> str:
    return f"postgresql:///postgres?host={server.folder}&port={server.port}&user=postgres"


def measure(server: PostgresServer, project: Path, count: int) -> Iterator[Way]:
    first, seconds = index(server, project, "here")
    yield compare("here", seconds, first, first)
    for lost in (False, True):
        with cluster(count) as hosts:
            doomed = hosts[-1] if lost else None
            found, seconds = index(server, project, f"cluster{lost:d}", head=True, doomed=doomed)
        yield compare("one host lost" if lost else f"{count} hosts", seconds, found, first)


def compare(name: str, seconds: float, found: Vectors, first: Vectors) -> Way:
    assert found.keys() == first.keys(), "other chunks than without a cluster"
    pairs = [(found[id_], vector) for id_, vector in first.items() if vector]
    assert all(vector for vector, _ in pairs), "a chunk has no vector"
    least = min(cosine(vector, other) for vector, other in pairs if vector)
    same = sum(vector == other for vector, other in pairs)
    return Way(name, round(seconds, 1), len(found), len(pairs), same, round(least, 6))


def cosine(one: bytes, other: bytes) -> float:
    first, second = unpack_vector(one), unpack_vector(other)
    lengths = math.hypot(*first) * math.hypot(*second)
    return sum(a * b for a, b in zip(first, second, strict=True)) / lengths


def index(
    server: PostgresServer,
    project: Path,
    schema: str,
    *,
    head: bool = False,
    doomed: Node | None = None,
) -> tuple[Vectors, float]:
    """The vectors of all chunks after an index run on the first host, and its seconds."""
    settings = {"store": {"url": url_of(server), "schema": schema}}
    if head:
        settings["indexing"] = {"ray": f"{address(1)}:{PORT}"}
    environ = environment(project.parent / schema, PGPASSWORD=server.password)
    home = Path(environ["AURORA_HOME"])
    home.mkdir(parents=True)
    (home / "config.yml").write_text(json.dumps(settings), encoding="utf-8")
    subprocess.run([AUR, "db", "init", "--no-config"], cwd=project, env=environ, check=True)
    words = [*(within(1) if head else ()), str(AUR), "mem", "index", ".", "--no-git"]
    begin = time.perf_counter()
    with subprocess.Popen(words, cwd=project, env=environ) as run:
        while run.poll() is None:
            if doomed is not None and is_embedding(server, schema):
                print("a host is lost", flush=True)
                doomed.kill()
                doomed = None
            time.sleep(0.2)
    seconds = time.perf_counter() - begin
    assert run.returncode == 0, "the index run failed"
    assert doomed is None, "the run ended before a host was lost"
    return read_vectors(project, environ), seconds


def is_embedding(server: PostgresServer, schema: str) -> bool:
    """Whether vectors of the cluster arrive beside the quick ones, which the first host makes."""
    with psycopg.connect(url_of(server), password=server.password) as connection:
        table = sql.Identifier(schema, "embeddings")
        query = sql.SQL("SELECT count(DISTINCT slot) FROM {}").format(table)
        try:
            return connection.execute(query).fetchone() == (2,)
        except psycopg.errors.UndefinedTable:
            return False


def read_vectors(project: Path, environ: dict[str, str]) -> Vectors:
    file = project.parent / "export.jsonl"
    file.unlink(missing_ok=True)
    subprocess.run([AUR, "mem", "export", file], cwd=project, env=environ, check=True)
    with file.open(encoding="utf-8") as lines:
        records = [record for line in lines if (record := json.loads(line)).get("type") == "chunk"]
    return {
        record["id"]: base64.b64decode(record["vector"]) if record["vector"] else None
        for record in records
    }


@contextmanager
def cluster(count: int) -> Iterator[list[Node]]:
    """Hosts with a processor each, of which the first is the head."""
    with ExitStack() as stack:
        stack.enter_context(network(count))
        temp = stack.enter_context(tempfile.TemporaryDirectory(prefix="ray", dir="/tmp"))
        hosts: list[Node] = []
        for number in range(1, count + 1):
            role = (f"--address={address(1)}:{PORT}",) if hosts else head_words(PORT, temp)
            node = Node(*role, f"--node-ip-address={address(number)}", within=within(number))
            stack.callback(node.kill)
            hosts.append(node)
        yield hosts


@contextmanager
def network(count: int) -> Iterator[None]:
    """A network namespace for each host, and one with the bridge between them."""
    names = [BRIDGE, *map(host, range(1, count + 1))]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", BRIDGE, "link", "add", "lan", "type", "bridge")
        ip("-n", BRIDGE, "link", "set", "lan", "up")
        for number in range(1, count + 1):
            name, port = host(number), f"port{number}"
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", port, "netns", BRIDGE)
            ip("-n", BRIDGE, "link", "set", port, "master", "lan", "up")
            ip("-n", name, "address", "add", f"{address(number)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def host(number: int) -> str:
    return f"aurora-host{number}"


def address(number: int) -> str:
    return f"{NETWORK}.{number}"


def within(number: int) -> list[str]:
    return ["ip", "netns", "exec", host(number)]


if __name__ == "__main__":
    main()
