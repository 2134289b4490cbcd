"""How many secrets redaction finds, and how many lines of honest code it touches.

    python benchmarks/quality/redaction.py [FOLDER …] [--gitleaks gitleaks.toml] [--missed] [--save]

The samples are those of tests/security/secret_samples.py. `detect-secrets` takes part where it is
installed; with `--gitleaks`, the patterns, keywords and entropies of that file do. For both, a
sample counts as found if its line is flagged at all; Aurora must take the whole secret out. In each
FOLDER, lines are counted in all files that `aur mem index` would read. `--save` writes
benchmarks/results/redaction-<commit>.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

sys.path += [str(Path(__file__).resolve().parents[at]) for at in (1, 2)]
import record

from aurora.redaction import Redactor
from aurora.sources.walk import SourceFile, read_text, walk_files
from tests.security.secret_samples import HONEST, Sample, samples


class Finder(Protocol):
    name: str

    def lines(self, text: str) -> set[int]:
        """Numbers of the lines that have a secret."""
        ...


class Aurora:
    name = "aurora"

    def lines(self, text: str) -> set[int]:
        pairs = zip(text.split("\n"), Redactor().text(text).split("\n"), strict=True)
        return {at for at, (before, after) in enumerate(pairs) if before != after}


class DetectSecrets:
    """All plugins and filters, as `detect-secrets scan` has them."""

    name = "detect-secrets"

    def lines(self, text: str) -> set[int]:
        from detect_secrets import SecretsCollection  # noqa: PLC0415 - it need not be there
        from detect_secrets.settings import default_settings  # noqa: PLC0415

        with tempfile.TemporaryDirectory() as folder, default_settings():
            file = Path(folder) / "text.conf"
            file.write_text(text, encoding="utf-8")
            secrets = SecretsCollection()
            secrets.scan_file(str(file))
            return {secret.line_number - 1 for _, secret in secrets}


class Gitleaks:
    """The rules of a gitleaks.toml, without its lists of what is allowed."""

    name = "gitleaks' rules"

    def __init__(self, file: Path) -> None:
        rules = tomllib.loads(file.read_text(encoding="utf-8"))["rules"]
        self._rules = [rule for rule in map(_parsed, rules) if rule]
        print(f"{len(self._rules)} of gitleaks' {len(rules)} rules are read")

    def lines(self, text: str) -> set[int]:
        folded = text.lower()
        starts = [0, *(end.end() for end in re.finditer("\n", text))]
        found = set()
        for pattern, keywords, least in self._rules:
            if not keywords or any(keyword in folded for keyword in keywords):
                for match in pattern.finditer(text):
                    secret = next((group for group in match.groups() if group), match[0])
                    if _entropy(secret) >= least:
                        found.add(sum(start <= match.start() for start in starts) - 1)
        return found


def _parsed(rule: Mapping[str, Any]) -> tuple[re.Pattern[str], list[str], float] | None:
    if not (pattern := rule.get("regex")):
        return None
    pattern = pattern.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]")
    pattern = re.sub(r"\(\?P<(\w+)>", "(?:", pattern)
    try:
        return re.compile(_local_flags(pattern)), rule.get("keywords", []), rule.get("entropy", 0)
    except re.error as exc:
        print(f"left out {rule['id']}: {exc}")
        return None


def _local_flags(pattern: str) -> str:
    """Go allows `(?i)` anywhere, up to the end of its group; Python only `(?i:…)` there."""
    while (at := pattern.find("(?i)")) >= 0:
        end = _group_end(pattern, at + 4)
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : end]}){pattern[end:]}"
    return pattern


def _group_end(pattern: str, start: int) -> int:
    """Where the group ends that `start` is in: escaped brackets and classes do not count."""
    depth = 0
    for token in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", pattern[start:]):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0:
            return start + token.start()
    return len(pattern)


def _entropy(text: str) -> float:
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def is_found(finder: Finder, sample: Sample) -> bool:
    if isinstance(finder, Aurora):
        return sample.secret not in Redactor().text(sample.line)
    return bool(finder.lines(sample.line))


def texts(folder: Path) -> Iterator[str]:
    for file in walk_files(folder.resolve()):
        if isinstance(file, SourceFile) and isinstance(text := read_text(file.path), str):
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--gitleaks", type=Path, metavar="FILE")
    parser.add_argument("--missed", action="store_true", help="Name what each finder misses.")
    parser.add_argument("--save", action="store_true")
    words = parser.parse_args()
    finders: list[Finder] = [Aurora()]
    if importlib.util.find_spec("detect_secrets"):
        finders.append(DetectSecrets())
    if words.gitleaks:
        finders.append(Gitleaks(words.gitleaks))
    given = list(samples())
    kinds = {sample.kind for sample in given}
    print(f"{len(given)} samples of {len(kinds)} kinds, {len(HONEST)} honest lines")
    measured: dict[str, dict[str, object]] = {}
    for finder in finders:
        missed = [sample for sample in given if not is_found(finder, sample)]
        touched = sum(bool(finder.lines(line)) for line in HONEST)
        row: dict[str, object] = {
            "recall": round(1 - len(missed) / len(given), 4),
            "kinds found": len(kinds - {sample.kind for sample in missed}),
            "honest lines touched": touched,
        }
        for folder in words.folders:
            row[f"lines in {folder.name}"] = sum(len(finder.lines(text)) for text in texts(folder))
        print(f"{finder.name}: " + ", ".join(f"{name} {value}" for name, value in row.items()))
        for sample in missed if words.missed else ():
            print(f"    missed: {sample.kind}: {sample.line[:100]}")
        measured[finder.name] = row
    if words.save:
        record.save("redaction", {"samples": len(given), "honest": len(HONEST), "found": measured})


if __name__ == "__main__":
    main()
