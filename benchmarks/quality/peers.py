"""Quality and time of a search, of ours and of other systems: the same texts and questions.

    python benchmarks/quality/peers.py SET [SET …] [--most 300] [--peer NAME …] [--save]

A SET is a folder as `aur eval` reads it. Ours are words alone, meaning alone, both with fixed
weights, and the default. Each peer (a file in benchmarks/peers/answers) runs in an environment of
its own below benchmarks/.cache/peers, made the first time by pip, with no network needed
afterwards. They get the same texts: files in pieces of some 1,500 characters under their path,
found where the best piece is; semble cuts files itself. What cannot be installed or fails is named
and left out. Times are of one question at a time in a warm process, the embedding of the question
with it, on whatever this machine was doing besides.

`--save` writes benchmarks/results/quality-<commit>.json, with intervals and a paired test of each
against our default, and a picture beside it: numbers only, for some sets may not be passed on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import aurora
from aurora.config import Places, SettingsFiles
from aurora.display.plot import render_svg
from aurora.engine.temporary_memory import TemporaryMemory
from aurora.evaluation import runner as asking
from aurora.evaluation.compare import compare
from aurora.evaluation.datasets import Item, LabelledSet, read_set
from aurora.evaluation.runner import Answer, System, evaluate, summarise
from aurora.report_types import MeasuredSet
from aurora.types import Mode

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record

OURS = (
    System(Mode.KEYWORD),
    System(Mode.SEMANTIC),
    System(Mode.HYBRID, "weighted"),
    DEFAULT := System(Mode.HYBRID, "auto"),
)
SINGLE = OURS[:2]
PLAIN = OURS[2]
ANSWERS = record.BENCHMARKS / "peers" / "answers"
CACHE = record.BENCHMARKS / ".cache" / "peers"
TABLE = ("--no-deps", "wordllama==0.2.2.post0")  # only its files are read


class PeerError(Exception):
    """A peer cannot be installed, or did not run."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The file that asks it, and what pip installs for that, one call after the other."""

    name: str
    installs: Sequence[Sequence[str]] = ()

    @property
    def script(self) -> Path:
        return ANSWERS / f"with_{self.name}.py"

    @property
    def python(self) -> Path:
        return CACHE / self.name / "bin" / "python"


PEERS = {
    peer.name: peer
    for peer in (
        Peer("bm25s", (("bm25s==0.3.16", "PyStemmer==3.1.0"),)),
        Peer("fts5"),
        Peer("model", (("numpy",),)),
        Peer("lancedb", (("lancedb==0.40.0",),)),
        Peer("semble", (("semble==0.7.0",), TABLE)),
    )
}


def told(*argv: str | Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerError((done.stderr.strip() or "no output").splitlines()[-1])
    return done.stderr


def install(peer: Peer) -> None:
    """Make the peer's environment, unless a whole one is there."""
    whole = CACHE / peer.name / "installed.txt"  # written last
    if whole.exists():
        return
    print(f"{peer.name}: installing", file=sys.stderr)
    told(sys.executable, "-m", "venv", "--clear", CACHE / peer.name)
    for packages in peer.installs:
        told(peer.python, "-m", "pip", "install", "--quiet", *packages)
    whole.write_text("\n".join(" ".join(packages) for packages in peer.installs))


def job_of(labelled: LabelledSet) -> list[dict[str, object]]:
    return [
        {
            "texts": [(one.id, shown(one), one.path, one.language) for one in group.items],
            "questions": [(question.id, question.text) for question in group.questions],
        }
        for group in labelled.by_group()
    ]


def shown(item: Item) -> str:
    """Below its title, even where it begins with that: so it is in the sets' own BM25 checks."""
    return f"{item.title}\n{item.text}" if item.title else item.text


def answers_of(peer: Peer, job: Path) -> dict[str, object]:
    """What the peer's process says of a job; all that it writes goes to the job's folder."""
    answers, folder = job.with_name(f"{peer.name}.json"), job.parent
    own = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(source())}
    offline = {
        "HF_HUB_OFFLINE": "1",
        "RUST_LOG": "error",
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }
    if said := told(peer.python, peer.script, job, answers, env={**offline, **own}):
        print(said.strip(), file=sys.stderr)
    found: dict[str, object] = json.loads(answers.read_text(encoding="utf-8"))
    return found


def source() -> Path:
    """Where our package lies: two peers use its embedder, which needs numpy and a table only."""
    return Path(aurora.__file__).parents[1]


def answers_by(peers: Sequence[Peer], labelled: LabelledSet) -> dict[str, dict[str, Answer]]:
    """Way → question → what was found."""
    answers = {}
    for peer in peers:
        with tempfile.TemporaryDirectory() as scratch:
            job = Path(scratch) / "job.json"
            job.write_text(json.dumps(job_of(labelled)), encoding="utf-8")
            try:
                ways = answers_of(peer, job)["ways"]
            except PeerError as exc:
                print(f"  {peer.name}: did not run: {exc}")
                continue
        assert isinstance(ways, dict)
        for way, told_ in ways.items():
            answers[way] = {
                question: Answer(tuple(found), (), 1e3 * seconds)
                for (question, found), seconds in zip(
                    told_["found"].items(), told_["seconds"], strict=True
                )
            }
    return answers


def measure(labelled: LabelledSet, peers: Sequence[Peer], made: TemporaryMemory) -> MeasuredSet:
    ours = evaluate(labelled, OURS, made.memory)
    every = replace(ours, answers={**ours.answers, **answers_by(peers, labelled)})
    measured = replace(summarise(every), compared=compare(every, DEFAULT.label), categories={})
    print(f"\n{measured.name}: {measured.questions} questions, {measured.documents:,} texts")
    for one in measured.systems:
        mean, low, high = one.scores["nDCG@10"]
        times = f"{one.p50_milliseconds:>8.2f}{one.p95_milliseconds:>8.2f} ms"
        print(f"  {one.system:<28}{mean:.4f}  {low:.3f} to {high:.3f}{times}", flush=True)
    return measured


def report(sets: Sequence[MeasuredSet]) -> None:
    """Markdown: a column a set, a row a way, nDCG@10 and the median milliseconds."""
    print("\n| nDCG@10 (ms) | " + " | ".join(one.name for one in sets) + " |")
    print("|---|" + "---|" * len(sets))
    by_set = [{one.system: one for one in measured.systems} for measured in sets]
    for way in dict.fromkeys(way for systems in by_set for way in systems):
        cells = (
            f"{one.scores['nDCG@10'].mean:.3f} ({one.p50_milliseconds:.1f})"
            if (one := systems.get(way))
            else "-"
            for systems in by_set
        )
        print(f"| {way} | " + " | ".join(cells) + " |")
    print(
        f"\n{DEFAULT.label} over {PLAIN.label}, and over both single signals one after the other:"
    )
    for measured, systems in zip(sets, by_set, strict=True):
        ours, plain = (systems[one.label].p50_milliseconds for one in (DEFAULT, PLAIN))
        alone = sum(systems[one.label].p50_milliseconds for one in SINGLE)
        print(f"{measured.name}: {ours - plain:+.1f} ms, {ours - alone:+.1f} ms")
    for measured in sets:
        for one in measured.compared:
            if one.system in {single.label for single in SINGLE}:
                mean, low, high = one.difference
                print(f"{measured.name}: {one.system} {mean:+.4f} ({low:+.4f} to {high:+.4f})")


def told_of(measured: MeasuredSet) -> dict[str, object]:
    """Nothing of the places beyond ten, which were not asked for."""
    return {
        "name": measured.name,
        "questions": measured.questions,
        "documents": measured.documents,
        "systems": {
            one.system: {
                "ndcg10": [round(number, 4) for number in one.scores["nDCG@10"]],
                "p50_ms": round(one.p50_milliseconds, 2),
                "p95_ms": round(one.p95_milliseconds, 2),
            }
            for one in measured.systems
        },
        f"difference to {DEFAULT.label}": {
            one.system: [*(round(number, 4) for number in one.difference), round(one.p_value, 4)]
            for one in measured.compared
        },
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--most", type=int, default=300, help="questions of each set")
    options.add_argument("--peer", action="append", choices=sorted(PEERS), default=[])
    options.add_argument("--save", action="store_true", help="write the numbers and a picture")
    given = options.parse_args()
    peers = []
    for name in given.peer or PEERS:
        try:
            install(PEERS[name])
            peers.append(PEERS[name])
        except (PeerError, OSError) as exc:
            print(f"{name}: not installable here: {exc}")
    asking.DEPTH = 10  # type: ignore[misc]  # nothing here is told of later places
    made = TemporaryMemory(SettingsFiles(Places(Path("/nonexistent")), {}, {}))
    sets = [measure(read_set(folder).draw(given.most), peers, made) for folder in given.sets]
    report(sets)
    if given.save:
        target = record.save(
            "quality", {"most": given.most, "sets": [told_of(one) for one in sets]}
        )
        target.with_suffix(".svg").write_text(render_svg(sets), encoding="utf-8")


if __name__ == "__main__":
    main()
