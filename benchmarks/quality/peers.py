"""nDCG@10 and the time of an answer of other systems, on the same texts and questions as ours.

    python benchmarks/quality/peers.py SET [SET …] [--most 300] [--peer NAME …] [--out FILE]

A SET is a folder as sets.py describes it. Each peer (a file in benchmarks/peers/answers) runs in an
environment of its own below benchmarks/.cache/peers, made the first time by pip, with no network
needed afterwards. All get the same texts: files in pieces of some 1,500 characters under their
path, found where the best piece is; semble cuts files itself. What cannot be installed or fails is
named and left out. Times are of one question at a time in a warm process, the embedding of the
question with it, on whatever this machine was doing besides.

`--out` writes JSON: for each set and way nDCG@10, the median of milliseconds, the seconds of
opening the texts, and the nDCG@10 of every question, for paired tests. It is written after every
set, and holds ids and numbers only; still, some sets may not be passed on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import aurora

sys.path.append(str(Path(__file__).resolve().parents[1]))
import record
from quality.sets import Grades, Record, by_group, draw, ndcg, read_set

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
        Peer("static", (("numpy",), TABLE)),
        Peer("lancedb", (("lancedb==0.40.0",), TABLE)),
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


def job_of(corpus: Sequence[Record], queries: Sequence[Record]) -> list[dict[str, object]]:
    return [
        {
            "texts": [
                (text["id"], shown(text), text.get("path") or "", text.get("lang") or "")
                for text in texts
            ],
            "questions": [(query["id"], query["text"]) for query in asked],
        }
        for texts, asked in by_group(corpus, queries)
    ]


def shown(text: Record) -> str:
    """Below its title, even where it begins with that: so it is in the sets' own BM25 checks."""
    return f"{text['title']}\n{text['text']}" if text.get("title") else str(text["text"])


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


def judged(answer: Mapping[str, object], grades: Grades) -> dict[str, object]:
    found, seconds = answer["found"], answer["seconds"]
    assert isinstance(found, dict)
    assert isinstance(seconds, list)
    scores = {query: round(ndcg(some, grades[query]), 4) for query, some in found.items()}
    return {
        "ndcg10": round(fmean(scores.values()), 4),
        "p50_ms": round(median(seconds) * 1000, 2),
        "opening_s": round(float(str(answer["opening"])), 1),
        "scores": scores,
    }


def measure(folder: Path, most: int, peers: Sequence[Peer]) -> dict[str, dict[str, object]]:
    """Way → what it is worth on one set."""
    corpus, queries, grades = read_set(folder)
    drawn = draw(queries, most)
    print(f"\n{folder.name}: {len(drawn)} questions, {len(corpus):,} texts")
    measured: dict[str, dict[str, object]] = {}
    for peer in peers:
        with tempfile.TemporaryDirectory() as scratch:
            job = Path(scratch) / "job.json"
            job.write_text(json.dumps(job_of(corpus, drawn)), encoding="utf-8")
            try:
                ways = answers_of(peer, job)["ways"]
            except PeerError as exc:
                print(f"  {peer.name}: did not run: {exc}")
                continue
        assert isinstance(ways, dict)
        for way, answer in ways.items():
            one = measured[way] = judged(answer, grades)
            print(f"  {way:<28}{one['ndcg10']:>8.4f}{one['p50_ms']:>10.2f} ms", flush=True)
    return measured


def report(measured: Mapping[str, Mapping[str, Mapping[str, object]]]) -> None:
    """Markdown: a column a set, a row a way, nDCG@10 and the median milliseconds."""
    print("\n| nDCG@10 (ms) | " + " | ".join(measured) + " |\n|---|" + "---|" * len(measured))
    for way in dict.fromkeys(way for ways in measured.values() for way in ways):
        cells = (
            f"{one['ndcg10']:.3f} ({one['p50_ms']:.1f})" if (one := ways.get(way)) else "-"
            for ways in measured.values()
        )
        print(f"| {way} | " + " | ".join(cells) + " |")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("sets", metavar="SET", type=Path, nargs="+")
    options.add_argument("--most", type=int, default=300, help="questions of each set")
    options.add_argument("--peer", action="append", choices=sorted(PEERS), default=[])
    options.add_argument("--out", type=Path, help="write the numbers to a file")
    given = options.parse_args()
    peers = []
    for name in given.peer or PEERS:
        try:
            install(PEERS[name])
            peers.append(PEERS[name])
        except (PeerError, OSError) as exc:
            print(f"{name}: not installable here: {exc}")
    measured: dict[str, dict[str, dict[str, object]]] = {}
    for folder in given.sets:
        measured[folder.name] = measure(folder, given.most, peers)
        if given.out:
            whole = {"most": given.most, "sets": measured}
            given.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    report(measured)


if __name__ == "__main__":
    main()
