"""What `aur mem search` prints, in every look, and to whom: terminal, pipe, program."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.backends import about_streams, without_memory
from tests.builders import write_tree
from tests.cli.conftest import Shell

NOTICE = (
    "Note: Search output format has changed. Use --legacy for old format.\n"
    "See CHANGELOG.md for details. (This message won't show again)\n"
)
LEGACY = "File            | Type     | Name              | Lines | Score"


def search(shell: Shell, *words: str) -> str:
    return shell.ok("mem", "search", *words)


def found(shell: Shell, *words: str) -> dict[str, object]:
    """The object that `--json` prints: stdout holds that and nothing else."""
    answer: dict[str, object] = json.loads(search(shell, *words, "--json"))
    return answer


def telling(shell: Shell) -> Shell:
    """A home where nobody was told of the format."""
    shell.environ["AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE"] = "false"
    return shell


# --legacy, --show-scores, --no-git


@pytest.mark.parametrize("flag", ["--legacy", "--no-git"])
def test_ut_display_05_five_columns(indexed: Shell, flag: str) -> None:
    """FR-5.5, and `--no-git` of the seed's risk 5."""
    heads = search(indexed, "authenticate_user", "--limit", "1", flag).splitlines()[0]
    assert heads == LEGACY


def test_the_format_can_be_a_setting_and_a_flag_overrules_it(indexed: Shell) -> None:
    indexed.ok("config", "set", "ui.default_search_format", "legacy")
    assert search(indexed, "authenticate_user", "-n", "1").splitlines()[0] == LEGACY
    assert "Last Modified" in search(indexed, "authenticate_user", "--no-legacy")


def test_it_e2e_05_show_scores(indexed: Shell) -> None:
    """FR-6.1 through the command: a box, three scores, why, and what git knows."""
    indexed.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    indexed.ok("mem", "get", "auth_manager.py:authenticate_user")
    box = search(indexed, "authenticate_user", "--show-scores", "--limit", "1").splitlines()
    assert box[0].startswith("┌─ auth_manager.py | function | authenticate_user (Lines 11-13) ─")
    assert box[1].startswith("│ Final Score: 0.9")
    assert "   ├─ BM25:       " in box[2]
    assert '⭐ (exact keyword match on "authenticate_user")' in box[2]
    assert "   ├─ Semantic:   0.000    (took no part)" in box[3]
    assert "   ├─ Activation: " in box[4]
    assert "(accessed 1x, last used just now)" in box[4]
    assert "   └─ Name:       1.000    (the query is its name)" in box[5]
    assert box[6].startswith("│ Git: - (untracked) ")
    assert box[7] == f"└{'─' * 78}┘"
    assert {len(line) for line in box} == {80, 79}  # a star takes two cells


def test_fr_6_5_scores_and_legacy_together(indexed: Shell) -> None:
    lines = search(
        indexed, "authenticate_user", "--show-scores", "--legacy", "-n", "1"
    ).splitlines()
    assert lines[0] == LEGACY
    assert lines[2].startswith("auth_manager.py | function | authenticate_user | 11-13 | 0.9")
    assert lines[3].startswith("  ├─ BM25:       ")
    assert "Git:" not in "\n".join(lines)


# --json


def test_json_is_the_only_thing_on_stdout(indexed: Shell) -> None:
    answer = found(telling(indexed), "authenticate user", "--type", "function", "-C", "0")
    assert answer["query"] == "authenticate user"
    assert answer["signals"] == ["bm25", "exact", "semantic"]
    assert answer["filters"] == {"kinds": ["function"]}
    index = answer["index"]
    assert index["root"] == str(indexed.cwd)
    assert datetime.fromisoformat(index["indexed_at"]) <= datetime.now(UTC)
    assert 0 <= index["age_seconds"] < 7200  # it was indexed for all tests of this run
    result = answer["results"][0]
    assert (result["id"], result["kind"], result["path"], result["lines"]) == (
        "auth_manager.py:authenticate_user", "function", "auth_manager.py", [11, 13],
    )  # fmt: skip
    assert result["score"] == pytest.approx(sum(p["value"] for p in result["contributions"]))
    assert result["snippet"][0]["line"] == 11


def test_json_has_the_order_and_scores_of_the_table(indexed: Shell) -> None:
    rows = search(indexed, "password session user").splitlines()[2:]
    table = [(row.split(" | ")[0].strip(), row.split(" | ")[4].strip()) for row in rows]
    results = found(indexed, "password session user")["results"]
    assert [(result["path"], f"{result['score']:.3f}") for result in results] == table


def test_json_of_nothing_is_an_empty_list_and_the_nearest_names(indexed: Shell) -> None:
    indexed.environ["AURORA_SEARCH_MIN_SCORE"] = "0.9"
    answer = found(indexed, "logotu")
    assert (answer["results"], answer["nearest"]) == ([], ["logout"])


def test_json_is_utf_8_whatever_the_terminal_speaks(indexed: Shell) -> None:
    indexed.environ |= {"PYTHONIOENCODING": "latin-1", "LC_ALL": "C"}
    assert found(indexed, "认证流程")["results"][0]["name"] == "认证流程"


def test_json_in_a_pipe_is_one_line(indexed: Shell) -> None:
    assert search(indexed, "password", "--json").count("\n") == 1


def test_an_error_leaves_stdout_empty(shell: Shell) -> None:
    assert "no memory yet" in shell.fails("mem", "search", "password", "--json")


# --files-with-matches


def test_files_are_named_once_the_best_first(indexed: Shell) -> None:
    indexed.ok("mem", "learn", "authenticate before the session")
    assert search(indexed, "authenticate_user session", "-l").splitlines()[0] == "auth_manager.py"
    names = search(indexed, "password session user authentication", "--files-with-matches")
    assert sorted(names.splitlines()) == sorted(set(names.splitlines()))
    assert set(names.splitlines()) <= {"auth_manager.py", "settings.py", "notes.md", "用户.py"}


def test_files_are_named_from_where_one_is(indexed: Shell) -> None:
    """So that `vim $(aur mem search -l …)` works anywhere in the project."""
    below = indexed.cwd / "deep" / "er"
    below.mkdir(parents=True)
    names = indexed.ok("mem", "search", "authenticate_user", "-l", cwd=below)
    assert names.splitlines()[0] == str(Path("..", "..", "auth_manager.py"))


def test_no_file_is_no_line(indexed: Shell) -> None:
    done = indexed.run("mem", "search", "xyzabc123", "-l")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("No relevant results found")


@without_memory
@pytest.mark.parametrize("flag", ["--json", "--show-scores", "--context=1", "--table"])
def test_names_alone_exclude_every_other_look(indexed: Shell, flag: str) -> None:
    assert "--files-with-matches" in indexed.fails("mem", "search", "password", "-l", flag)


# --context


def test_a_context_shows_path_line_and_the_lines(indexed: Shell) -> None:
    shown = search(indexed, "check password", "-n", "1", "--context", "1", "--no-git")
    assert shown.splitlines()[1:] == [
        "  11: def authenticate_user(name, password):",
        '  12:     """Check a password."""',
        "  13-     return name in USERS",
    ]
    assert shown.startswith("auth_manager.py:11  authenticate_user  function  0.")


@without_memory
def test_a_context_below_zero_is_refused(indexed: Shell) -> None:
    assert "-1" in indexed.fails("mem", "search", "password", "-C", "-1")


# Exit status


def test_nothing_found_is_no_failure_unless_asked(indexed: Shell) -> None:
    assert indexed.run("mem", "search", "xyzabc123").returncode == 0
    assert indexed.run("mem", "search", "xyzabc123", "--exit-code").returncode == 1
    assert indexed.run("mem", "search", "xyzabc123", "--exit-code", "--json").returncode == 1
    assert indexed.run("mem", "search", "password", "--exit-code").returncode == 0


# The notice of seed 000, 7.5


@about_streams
def test_the_notice_comes_once_and_is_kept_in_the_settings(indexed: Shell) -> None:
    indexed.environ = {"AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE": ""}
    (indexed.home / "config.yml").write_text("# of an earlier version\n")
    first, second = (indexed.run("mem", "search", "password") for _ in range(2))
    assert (first.stderr, second.stderr) == (NOTICE, "")
    assert first.stdout == second.stdout
    config = (indexed.home / "config.yml").read_text()
    assert config == "# of an earlier version\nui:\n  shown_search_format_notice: true\n"


@about_streams
def test_the_notice_is_not_for_a_first_search(indexed: Shell) -> None:
    """A user without settings has not used an earlier version, and gets no settings by this."""
    indexed.environ = {"AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE": ""}
    assert indexed.run("mem", "search", "password").stderr == ""
    assert not (indexed.home / "config.yml").exists()
    indexed.ok("config", "set", "search.limit", "3")  # nor is it for settings of this version
    assert indexed.run("mem", "search", "password").stderr == ""


@about_streams
def test_the_notice_keeps_what_is_in_the_settings(indexed: Shell) -> None:
    indexed.home.mkdir(parents=True, exist_ok=True)
    (indexed.home / "config.yml").write_text("# mine\nsearch:\n  bm25: {k1: 1.2}  # tuned\n")
    indexed.environ = {"AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE": ""}
    assert indexed.run("mem", "search", "password").stderr == NOTICE
    assert (indexed.home / "config.yml").read_text() == (
        "# mine\nsearch:\n  bm25: {k1: 1.2}  # tuned\nui:\n  shown_search_format_notice: true\n"
    )


@about_streams
@pytest.mark.parametrize(
    "words", [["password", "--legacy"], ["password", "--json"], ["password", "-l"], ["xyzabc123"]]
)
def test_the_notice_is_not_for_those_who_do_not_see_the_new_table(
    indexed: Shell, words: list[str]
) -> None:
    indexed.environ = {"AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE": ""}
    (indexed.home / "config.yml").write_text("# mine\n")
    assert indexed.run("mem", "search", *words).stderr == ""
    assert (indexed.home / "config.yml").read_text() == "# mine\n"


@about_streams
def test_a_notice_that_cannot_be_kept_is_not_shown_every_time(indexed: Shell) -> None:
    (indexed.home / "config.yml").mkdir(parents=True)  # nothing can be written there
    indexed.environ = {"AURORA_UI_SHOWN_SEARCH_FORMAT_NOTICE": ""}
    done = indexed.run("mem", "search", "password")
    assert "format has changed" not in done.stderr


# Stale metadata


def test_metadata_that_may_be_stale_is_told(indexed: Shell) -> None:
    """Seed 000, 6.4: git was asked more than seven days ago."""
    subprocess.run(["git", "add", "."], cwd=indexed.cwd, check=True)
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *identity, "commit", "-qm", "x"], cwd=indexed.cwd, check=True)
    indexed.ok("mem", "index", ".")
    assert "stale" not in indexed.run("mem", "search", "password").stderr
    indexed.ask_git_long_ago()
    told = indexed.run("mem", "search", "password")
    assert "(metadata may be stale)" in told.stderr
    assert "stale" not in indexed.run("mem", "search", "password", "--legacy").stderr


# Pipes and encodings


@about_streams
def test_a_reader_that_has_seen_enough_is_no_error(indexed: Shell) -> None:
    write_tree(indexed.cwd, {f"m{n}.py": f"def password_{n}(): pass\n" for n in range(300)})
    indexed.ok("mem", "index", ".")
    for flags in ("", "--show-scores", "--json", "-C 3", "-l"):
        done = indexed.bash(f"aur mem search password {flags} --limit 500 | head -c 10")
        assert (done.returncode, done.stderr) == (0, ""), flags


@about_streams
@pytest.mark.parametrize("flags", [[], ["--show-scores"], ["-C", "1"], ["-l"]])
def test_letters_that_the_terminal_does_not_have_are_no_failure(
    indexed: Shell, flags: list[str]
) -> None:
    indexed.environ["PYTHONIOENCODING"] = "ascii"
    assert indexed.run("mem", "search", "认证流程", *flags).returncode == 0


@about_streams
def test_a_box_is_drawn_in_ascii_where_there_is_nothing_better(indexed: Shell) -> None:
    indexed.environ["PYTHONIOENCODING"] = "latin-1"
    box = search(indexed, "authenticate_user", "--show-scores", "-n", "1").splitlines()
    assert (box[0][:3], box[-1]) == ("+- ", f"+{'-' * 78}+")
    assert "|- BM25:" in box[3]  # below the score, which takes two lines
    assert '*  (exact keyword match on "authenticate_user")' in box[3]
    assert {len(line) for line in box} == {80}


@about_streams
def test_a_pipe_gets_no_colour_and_no_link(indexed: Shell) -> None:
    indexed.environ["TERM_PROGRAM"] = "vscode"
    assert "\033" not in search(indexed, "password", "-C", "1")


@about_streams
def test_colour_and_links_can_be_forced_into_a_pipe(indexed: Shell) -> None:
    indexed.environ |= {"FORCE_COLOR": "1", "FORCE_HYPERLINK": "1"}
    shown = search(indexed, "authenticate_user", "-n", "1")
    place = Path(indexed.cwd, "auth_manager.py").as_posix()
    assert f"{place}#11\033\\auth_manager.py\033]8;;\033\\ | " in shown
    assert "\033[1;36mauthenticate_user\033[0m" in shown
