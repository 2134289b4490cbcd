"""How many processors a process may use, in containers of either kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aurora.embeddings import compute as threads
from aurora.embeddings.compute import usable_processors


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8 processors and no control groups."""
    monkeypatch.setattr(threads, "processors", lambda: 8)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_on_this_machine_it_is_at_least_one_and_at_most_all() -> None:
    assert 1 <= usable_processors() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds processes")
def test_only_processors_that_the_process_is_bound_to_count() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_processors() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_without_control_groups_all_count(root: Path) -> None:
    assert usable_processors(root) == 8


@pytest.mark.parametrize(
    ("quota", "count"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1),
     ("1600000 100000", 8), ("", 8), ("nonsense", 8), ("100000 0", 8)],
)  # fmt: skip
def test_a_quota_is_rounded_up(root: Path, quota: str, count: int) -> None:
    write(root / "proc/self/cgroup", "0::/\n")
    write(root / "sys/fs/cgroup/cpu.max", quota)
    assert usable_processors(root) == count


def test_the_narrowest_group_above_counts(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/user.slice/job\n")
    write(root / "sys/fs/cgroup/user.slice/job/cpu.max", "max 100000")
    write(root / "sys/fs/cgroup/user.slice/cpu.max", "300000 100000")
    assert usable_processors(root) == 3


def test_version_one_has_a_file_for_each_number(root: Path) -> None:
    write(root / "proc/self/cgroup", "9:memory:/job\n4:cpu,cpuacct:/job\n")
    write(root / "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "400000\n")
    write(root / "sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n")
    assert usable_processors(root) == 4
    write(root / "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n")
    assert usable_processors(root) == 8
