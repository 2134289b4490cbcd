"""`aur doctor`: tells what is wrong, whatever it is, and never falls over it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from aurora.config.schema import CATALOGUE
from tests.backends import in_a_file, with_index_files, without_home, without_memory
from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.cli.forking import relaying
from tests.cli.screen import Terminal

MARK = re.compile(r"  (ok  |note|warn|FAIL)  \S.*|        \S.*")


def findings(shell: Shell, *words: str, status: int = 0) -> dict[str, list[tuple[str, str, str]]]:
    """Level → area, text and hint, of a run that must end with this status."""
    done = shell.run("doctor", "--json", *words)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is (status == 0)
    found: dict[str, list[tuple[str, str, str]]] = {}
    for one in answer["findings"]:
        if one["text"].startswith("ray: missing"):
            continue  # only the full tests install it
        found.setdefault(one["level"], []).append((one["area"], one["text"], one["hint"]))
    return found


def failure(shell: Shell, *words: str) -> tuple[str, str, str]:
    """The one thing that failed."""
    (found,) = findings(shell, *words, status=1)["fail"]
    return found


def database(shell: Shell) -> Path:
    return shell.cwd / ".aurora" / "memory.db"


def test_all_is_well_after_an_index(indexed: Shell, backend: str) -> None:
    done = indexed.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    blocks = done.stdout.split("\n\n")
    titles = [block.splitlines()[0] for block in blocks]
    assert titles == ["Program", "Parts it can use", "Memory", "Settings", "All is well."]
    lines = [line for block in blocks[:-1] for line in block.splitlines()[1:]]
    assert [line for line in lines if not MARK.fullmatch(line)] == []
    for said in ("SQLite 3.", "git 2.", "numpy", "watchfiles", "mcp 2.",
                 "Holds 7 chunks of 4 files", "Database and text indexes are whole",
                 *(["Keyword index: up to date", "Cache: "] if backend == "sqlite" else []),
                 "aurora.log", "search.bm25.b = 0.75  (default)"):  # fmt: skip
        assert said in done.stdout, said


def test_without_a_memory_it_says_how_to_make_one(shell: Shell, backend: str) -> None:
    found = findings(shell)["note"]
    step = "aur db init" if backend == "postgres" else "aur mem index ."
    assert found[0][:1] + found[0][2:] == ("memory", f"make one with `{step}`")
    assert found[0][1].startswith("There is no memory yet at ")
    if backend == "postgres":
        return  # what its address needs is there already
    assert not shell.home.exists()
    assert not (shell.cwd / ".aurora").exists()


@in_a_file
def test_a_database_that_is_none_fails_and_is_left_alone(indexed: Shell) -> None:
    for file in database(indexed).parent.glob("memory.db*"):
        file.unlink()
    database(indexed).write_text("Dear diary,\n" * 1000)
    area, text, hint = failure(indexed)
    assert (area, "not a usable database" in text, "index again" in hint) == ("memory", True, True)
    assert database(indexed).read_text() == "Dear diary,\n" * 1000


@in_a_file
def test_damage_inside_the_database_fails(indexed: Shell) -> None:
    """Pages of the middle are overwritten: the file still opens."""
    with closing(sqlite3.connect(database(indexed))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_path'"
        ).fetchone()
    content = bytearray(database(indexed).read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\x55" * 4096
    database(indexed).write_bytes(content)
    area, text, hint = failure(indexed)
    assert area == "memory"
    assert "damaged" in text or "malformed" in text
    assert "`aur mem repair` keeps all that can be read" in hint
    # Asked to be quick, it reads of it as every command does: it is not as it was left.
    found = findings(indexed, "--quick", status=1)
    assert [f"{database(indexed)} is damaged: " in text for _, text, _ in found["fail"]] == [True]


@in_a_file
def test_a_text_index_that_is_not_of_its_chunks_fails(indexed: Shell) -> None:
    with closing(sqlite3.connect(database(indexed), isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER chunks_words_after_update")
        connection.execute("UPDATE chunks SET content = 'other' WHERE kind = 'class'")
    area, text, _ = failure(indexed)
    assert area == "memory"
    assert "text index chunks_words" in text


@in_a_file
def test_a_newer_database_fails_with_the_words_of_every_command(indexed: Shell) -> None:
    with closing(sqlite3.connect(database(indexed))) as connection:
        connection.execute("PRAGMA user_version = 99")
    area, text, hint = failure(indexed)
    assert (area, "newer Aurora (schema 99" in text, "upgrade" in hint) == ("memory", True, True)


@in_a_file
def test_an_older_database_is_told_and_stays_as_it_is(indexed: Shell) -> None:
    with closing(sqlite3.connect(database(indexed))) as connection:
        connection.execute("PRAGMA user_version = 3")
    (note,) = findings(indexed)["note"]
    assert note[1].startswith("Schema 3, older than ")
    with closing(sqlite3.connect(database(indexed))) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)


@in_a_file
def test_another_programs_database_fails(shell: Shell) -> None:
    shell.ok("init")
    with closing(sqlite3.connect(database(shell))) as connection:
        connection.execute("CREATE TABLE cookies (name TEXT)")
    assert "database of another program" in failure(shell)[1]


@in_a_file
def test_a_circle_of_links_in_place_of_the_database_fails(shell: Shell) -> None:
    shell.ok("init")
    database(shell).symlink_to(database(shell))
    found = shell.run("doctor")
    assert (found.returncode, "memory.db is a link" in found.stdout) == (1, True)


@with_index_files
def test_a_damaged_keyword_index_fails_and_is_left_to_the_next_search(indexed: Shell) -> None:
    index = database(indexed).parent / "indexes" / "bm25.idx"
    content = bytearray(index.read_bytes())
    content[8192] ^= 1
    index.write_bytes(content)
    area, text, hint = failure(indexed)
    assert (area, "Keyword index: damaged" in text) == ("memory", True)
    assert "aur mem rebuild-bm25" in hint
    assert index.read_bytes() == content
    findings(indexed, "--quick")  # the header is whole, and nothing else is looked at


@with_index_files
def test_an_index_that_is_gone_or_behind_is_only_worth_a_note(indexed: Shell) -> None:
    indexed.ok("mem", "learn", "retry with backoff")
    assert "behind the memory" in findings(indexed)["note"][0][1]
    shutil.rmtree(database(indexed).parent / "indexes")
    assert "missing" in findings(indexed)["note"][0][1]


@with_index_files
def test_a_damaged_vector_index_fails(indexed: Shell) -> None:
    write_tree(database(indexed).parent, {"indexes/vectors.idx": b"AURORAIX"})
    assert "Vector index: damaged" in failure(indexed)[1]


@in_a_file
@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_a_memory_that_others_can_read_is_a_warning(indexed: Shell) -> None:
    assert "warn" not in findings(indexed)
    database(indexed).parent.chmod(0o755)
    database(indexed).chmod(0o644)
    (warning,) = findings(indexed)["warn"]
    assert "Other users of this machine can read" in warning[1]
    assert warning[2] == f"chmod 700 {database(indexed).parent}"


@in_a_file
def test_files_that_do_not_belong_are_named(indexed: Shell) -> None:
    write_tree(database(indexed).parent, {"notes.txt": "mine", "indexes/old.pkl": "?"})
    (note,) = findings(indexed)["note"]
    assert note[1].endswith("that Aurora did not make: notes.txt, indexes/old.pkl")


@in_a_file
def test_what_the_program_made_in_a_memory_and_at_home_belongs(indexed: Shell) -> None:
    folder = database(indexed).parent
    for name in ("run", "given", "memories.json.lock", "workspace.json", "checkouts.json.1.2.tmp"):
        (folder / name).mkdir()
    assert not any("did not make" in note[1] for note in findings(indexed).get("note", ()))


@in_a_file
def test_invalid_settings_fail_with_all_problems_and_the_rest_is_checked(indexed: Shell) -> None:
    write_tree(indexed.home, {"config.yml": "search:\n  bm25:\n    k1: -1.5\n    b: 7\n"})
    refusal = indexed.fails("mem", "stats").removeprefix("Error: ").partition("\n\nhint")[0]
    found = findings(indexed, status=1)
    ((area, text, hint),) = found["fail"]
    assert (area, text) == ("settings", refusal)
    assert "correct the value" in hint
    assert "Database and text indexes are whole" in [text for _, text, _ in found["ok"]]


@without_memory
def test_broken_yaml_fails(indexed: Shell) -> None:
    write_tree(indexed.home, {"config.yml": "search: [1, 2\n"})
    assert "line 2, column 1" in failure(indexed)[1]


@in_a_file
def test_a_project_file_that_needs_approval_is_a_warning(indexed: Shell) -> None:
    write_tree(indexed.cwd / ".aurora", {"config.yml": "embedding:\n  model: shallow\n"})
    (warning,) = findings(indexed)["warn"]
    assert "aur config approve" in warning[1]
    assert indexed.approve()[0] == 0
    found = findings(indexed)
    assert "warn" not in found
    assert any(text.startswith("embedding.model = shallow  (") for _, text, _ in found["ok"])


def test_every_setting_is_listed_with_its_origin(indexed: Shell) -> None:
    indexed.ok("config", "set", "search.bm25.k1", "1.2")
    indexed.environ["AURORA_SEARCH_MODE"] = "keyword"
    found = findings(indexed)["ok"]
    told = [text for area, text, _ in found if area == "settings" and " = " in text]
    assert [line.partition(" = ")[0] for line in told] == list(CATALOGUE)
    assert "search.bm25.k1 = 1.2  (~/home/config.yml)" in told
    assert "search.bm25.b = 0.75  (default)" in told
    assert "search.mode = keyword  (the environment (AURORA_SEARCH_MODE))" in told


def test_keys_in_an_address_are_never_printed(indexed: Shell) -> None:
    address = "https://ada:hunter2@example.org/v1?key=hunter2"
    told = indexed.fails("config", "set", "embedding.endpoint", address)
    assert "https://***@example.org/v1?key=***" in told
    assert "hunter2" not in told
    write_tree(indexed.home, {"config.yml": f"embedding:\n  endpoint: {address}\n"})
    for words in ((), ("--json",)):
        done = indexed.run("doctor", *words)
        assert "https://***@example.org/v1?key=***" in done.stdout
        assert "hunter2" not in done.stdout + done.stderr


@without_memory
def test_without_git_that_is_a_warning_with_the_way_out(indexed: Shell, tmp_path: Path) -> None:
    indexed.environ["PATH"] = str(tmp_path)
    (warning,) = findings(indexed)["warn"]
    assert warning[1].startswith("git: missing, for ")
    assert "install git" in warning[2]


@without_home
def test_a_home_that_is_a_file_is_a_warning(indexed: Shell) -> None:
    shutil.rmtree(indexed.home, ignore_errors=True)
    write_tree(indexed.home.parent, {indexed.home.name: "no folder"})
    (warning,) = findings(indexed)["warn"]
    assert "cannot be written" in warning[1]


@without_home
def test_without_a_home_the_program_is_checked_all_the_same(indexed: Shell) -> None:
    indexed.environ |= {"AURORA_HOME": "~nobody-at-all/x"}
    found = findings(indexed, status=1)
    assert "There is no home directory" in found["fail"][0][1]
    assert any(text.startswith("SQLite ") for _, text, _ in found["ok"])


@without_memory
def test_output_without_other_letters_is_a_warning_and_no_crash(indexed: Shell) -> None:
    indexed.environ["PYTHONIOENCODING"] = "ascii"
    done = indexed.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  warn  Letters: output ascii" in done.stdout


@without_memory
def test_a_stdout_that_was_closed_is_no_crash(indexed: Shell) -> None:
    done = indexed.bash("aur doctor >&-")
    assert (done.returncode, done.stderr) == (0, "")


@without_memory
@pytest.mark.parametrize(
    ("environ", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(
    indexed: Shell, environ: dict[str, str], *, coloured: bool
) -> None:
    assert "\033" not in indexed.ok("doctor")
    env = {"AURORA_HOME": str(indexed.home), **environ}
    terminal = Terminal([relaying() / "aur", "doctor"], cwd=indexed.cwd, env=env)
    assert terminal.wait() == 0, terminal.written
    assert ("\033[32mok  \033[0m" in terminal.written) is coloured


@without_memory
def test_an_unknown_option_is_a_usage_error(indexed: Shell) -> None:
    assert "Usage: aur doctor" in indexed.fails("doctor", "--deep")


@without_memory
def test_the_python_it_names_is_the_one_that_runs_it(indexed: Shell) -> None:
    assert f"({Path(sys.executable).parent}" in indexed.ok("doctor", "--quick")


@with_index_files
def test_without_numpy_doctor_fails_and_an_index_says_what_is_missing(shell: Shell) -> None:
    write_tree(shell.home.parent, {"broken/numpy.py": "raise ImportError('no numpy here')\n"})
    shell.environ["PYTHONPATH"] = str(shell.home.parent / "broken")
    _, text, hint = failure(shell)
    assert text.startswith("numpy: missing")
    assert "nothing can be indexed" in hint
    refusal = shell.fails("mem", "index", ".")
    assert refusal.startswith("Error: A library cannot be imported: no numpy here\n")
    assert "aur doctor" in refusal.splitlines()[-1]


@with_index_files
def test_a_file_where_the_indexes_should_be_is_told_as_such(indexed: Shell) -> None:
    """Not as a check that fell over it."""
    shutil.rmtree(indexed.cwd / ".aurora" / "indexes")
    write_tree(indexed.cwd, {".aurora/indexes": ""})
    texts = [text for _, text, _ in findings(indexed, status=1)["fail"]]
    assert [text.partition(":")[0] for text in texts] == ["Keyword index", "Vector index"]


@without_memory
def test_settings_without_effect_are_named(shell: Shell) -> None:
    shell.environ |= {
        f"AURORA_SEARCH_HYBRID_WEIGHTS_{name}": "0.5" for name in ("BM25", "SEMANTIC")
    }
    shell.environ["AURORA_SEARCH_HYBRID_WEIGHTS_ACTIVATION"] = "0"
    warned = [text for area, text, _ in findings(shell)["warn"] if area == "settings"]
    assert len(warned) == 1
    assert warned[0].startswith("No effect: search.hybrid.weights (the environment (")
    assert warned[0].endswith(
        "The fusion auto does not use them: set `search.fusion` to staged, or remove them"
    )
    shell.environ["AURORA_SEARCH_FUSION"] = "staged"
    assert [text for _, text, _ in findings(shell).get("warn", []) if "No effect" in text] == []


def test_an_endpoint_that_is_down_is_named(indexed: Shell) -> None:
    """Nothing is sent: the listener takes the connection and never reads."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        endpoint = f"http://127.0.0.1:{port}/v1"
        indexed.environ |= {
            "AURORA_EMBEDDING_PROVIDER": "openai", "AURORA_EMBEDDING_ENDPOINT": endpoint,
            "AURORA_LLM_ENDPOINT": endpoint,
        }  # fmt: skip
        name = "openai/text-embedding-3-small"
        reached = [text for _, text, _ in findings(indexed)["ok"] if "can be reached" in text]
        assert reached[0] == f"Embedder: {name} (remote: can be reached, not called)"
        assert len(reached) == 2
    warned = [line for line in findings(indexed)["warn"] if "cannot be reached" in line[1]]
    assert warned[0] == (
        "memory",
        f"Embedder: {name}: the endpoint {endpoint} cannot be reached (Connection refused)",
        "start it, or set another `embedding.endpoint`; until then searches go without it",
    )
    assert len(warned) == 2
    assert "All is well" not in indexed.run("doctor").stdout


def test_without_a_provider_the_setting_is_the_hint_not_a_package(indexed: Shell) -> None:
    indexed.environ["AURORA_EMBEDDING_PROVIDER"] = "none"
    done = indexed.run("mem", "search", "login")
    assert "(`embedding.provider` is none: set it to aurora, or unset it)" in done.stderr
    assert "install" not in done.stderr
    hints = [hint for _, text, hint in findings(indexed)["note"] if text.startswith("Embedder")]
    assert hints == ["set `embedding.provider` to aurora, or unset it"]


@pytest.mark.one_store("about processes")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows processes")
def test_a_server_that_was_never_asked_is_listed(shell: Shell) -> None:
    """But not one of another project, and not the doctor itself."""
    here = write_tree(shell.cwd, {".aurora/config.yml": ""})
    other = write_tree(shell.cwd.parent / "other", {".aurora/config.yml": ""})
    servers = [
        subprocess.Popen([AUR, "mcp"], cwd=cwd, env=shell.environment, stdin=subprocess.PIPE)
        for cwd in (here, other)
    ]
    listed = [text for _, text, _ in findings(shell)["ok"] if text.startswith("Process ")]
    for server in servers:
        server.communicate()
    assert [text.partition(", since 20")[0] for text in listed] == [
        f"Process {servers[0].pid}: aur mcp"
    ]


@in_a_file
def test_the_log_is_listed_with_its_size(shell: Shell) -> None:
    [empty] = [text for _, text, _ in findings(shell)["ok"] if text.startswith("Log: ")]
    assert empty.endswith("aurora.log (nothing to say yet)")
    half = b"x" * (512 << 10)
    write_tree(shell.home, {"logs/aurora.log": half, "logs/aurora.log.1": half})
    [full] = [text for _, text, _ in findings(shell)["ok"] if text.startswith("Log: ")]
    assert full.endswith("aurora.log (1.0 MiB)")
