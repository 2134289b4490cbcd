"""The user's conversation logs are found month by month, and nothing else is."""

from __future__ import annotations

from pathlib import Path

from aurora.sources.conversations import find_logs
from tests.builders import write_tree


def test_logs_of_all_years_are_found_in_order(tmp_path: Path) -> None:
    names = ["2024/01/z.md", "2025/02/a.md", "2025/11/a.md", "2025/11/b.md"]
    others = ["2025/11/a.txt", "2025/11/deep/a.md", "2025/a.md", "latest/11/a.md", "a.md"]
    write_tree(tmp_path, dict.fromkeys([*names[::-1], *others], "x"))

    assert [log.path for log in find_logs(tmp_path)] == [tmp_path / name for name in names]


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = write_tree(tmp_path / "outside", {"11/a.md": "x", "b.md": "x"})
    logs = write_tree(tmp_path / "logs", {"2025/12/real.md": "x"})
    (logs / "2024").symlink_to(outside)
    (logs / "2025" / "11").symlink_to(outside / "11")
    (logs / "2025" / "12" / "b.md").symlink_to(outside / "b.md")
    (logs / "2025" / "12" / "folder.md").mkdir()

    assert [log.path for log in find_logs(logs)] == [logs / "2025" / "12" / "real.md"]


def test_the_folder_itself_may_be_a_link_and_need_not_be_there(tmp_path: Path) -> None:
    real = write_tree(tmp_path / "real", {"2025/12/a.md": "x"})
    (tmp_path / "link").symlink_to(real)

    assert [log.path for log in find_logs(tmp_path / "link")] == [tmp_path / "link/2025/12/a.md"]
    assert find_logs(tmp_path / "nowhere") == find_logs(real / "2025/12/a.md") == []
