"""Results of a complete run, kept by the commit of the Aurora that was measured."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import aurora

BENCHMARKS = Path(__file__).resolve().parent


def commit() -> str:
    """Of the Aurora that is imported: it need not be the one these scripts lie beside."""
    return _told("git", "-C", str(Path(aurora.__file__).parent), "rev-parse", "--short=12", "HEAD")


def cpu_model() -> str:
    if shutil.which("lscpu") and (found := re.search(r"Model name:\s*(.+)", _told("lscpu"))):
        return found[1]
    return platform.processor() or platform.machine()


def save(name: str, measured: Mapping[str, object], *, packages: Sequence[str] = ()) -> Path:
    """Write benchmarks/results/<name>-<commit>.json: what was measured, on what, with what."""
    head = commit()
    machine = {"cores": os.cpu_count(), "cpu": cpu_model(), "python": platform.python_version()}
    versions = {package: metadata.version(package) for package in ("aurora-memory", *packages)}
    target = BENCHMARKS / "results" / f"{name}-{head}.json"
    whole = {"project": head, "versions": versions, "machine": machine, **measured}
    target.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {target.relative_to(BENCHMARKS.parent)}")
    return target


def _told(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
