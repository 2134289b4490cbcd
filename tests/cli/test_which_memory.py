"""Which memory is asked, and which one keeps what: project, person, workspace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import psycopg
import pytest

from aurora import Memory, Places
from aurora.engine.location import PostgresLocation
from tests.builders import NOW, write_tree
from tests.cli.conftest import Shell, settle
from tests.sources.repository import git, make_repository

LOG = (
    "# Conversation: tiles\nDate: 2025-12-15\nQuery: how\n\n## Phase 1: Plan\nTiles are quokkas.\n"
)


@pytest.fixture
def shell(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Shell:
    """A repository that was never indexed."""
    files = {"app.py": "def parse_quokka(text):\n    return text.split()\n"}
    return settle(
        Shell(make_repository(tmp_path / "web", files), tmp_path / "user" / "home"),
        backend,
        request,
    )


def another(shell: Shell, name: str = "api") -> Path:
    """A second repository of the same user, in a file."""
    text = "def serve_quokka(request):\n    return request.body\n"
    return make_repository(shell.cwd.parent / name, {"src/serve.py": text})


def write_log(shell: Shell) -> Path:
    log = shell.home / "logs" / "conversations" / "2025" / "12" / "tiles-2025-12-15.md"
    write_tree(log.parent, {log.name: LOG})
    return log


def found(shell: Shell, *words: str, cwd: Path | None = None) -> list[tuple[str, str]]:
    """Ids and memories of the results."""
    done = json.loads(shell.ok("mem", "search", *words, "--json", cwd=cwd))
    return [(result["id"], result["memory"]) for result in done["results"]]


def test_a_lesson_in_a_repository_belongs_to_it(shell: Shell) -> None:
    """Before, it went to the user's own memory, and was lost with the first index."""
    lesson = shell.ok("mem", "learn", "quokka uploads need a retry").strip()
    assert found(shell, "quokka uploads retry")[0] == (lesson, "web")
    shell.ok("mem", "index")
    assert found(shell, "quokka uploads retry")[0] == (lesson, "web")
    elsewhere = another(shell)
    shell.ok("mem", "index", cwd=elsewhere)
    assert lesson not in dict(found(shell, "quokka uploads retry", cwd=elsewhere))


def test_a_private_lesson_is_found_from_everywhere_and_stays_with_the_person(shell: Shell) -> None:
    shell.ok("mem", "index")
    lesson = shell.ok("mem", "learn", "--private", "wombat keys rotate on Mondays").strip()
    assert found(shell, "wombat keys rotate")[0] == (lesson, "personal")
    assert "wombat" not in shell.ok("mem", "search", "wombat keys", "--memory", "project")
    with shell.store() as store:
        assert store.chunks.get_chunks([lesson]) == []
    elsewhere = another(shell)
    shell.ok("mem", "index", cwd=elsewhere)
    assert found(shell, "wombat keys rotate", cwd=elsewhere)[0] == (lesson, "personal")
    assert "wombat keys rotate on Mondays" in shell.ok("mem", "get", lesson, cwd=elsewhere)
    assert shell.ok("mem", "forget", lesson, "--yes") == "Forgot 1 chunk\n"
    assert lesson not in dict(found(shell, "wombat keys rotate", cwd=elsewhere))


def test_a_repository_that_was_never_indexed_says_so(shell: Shell) -> None:
    unindexed = another(shell, "new")
    error = shell.fails("mem", "search", "quokka", cwd=unindexed)
    assert "There is no memory yet of" in error
    assert "new\n" in error
    shell.ok("mem", "learn", "--private", "wombat keys rotate on Mondays")
    done = shell.run("mem", "search", "wombat keys", cwd=unindexed)
    assert "is not indexed: only your own memory was searched" in done.stderr
    assert "wombat keys rotate on Mondays" in done.stdout
    assert not (unindexed / ".aurora").exists()


def test_git_is_asked_once_for_all_searches(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    unindexed = another(shell, "new")
    shell.ok("mem", "learn", "--private", "wombat keys rotate on Mondays")
    with Memory.open(unindexed, environ=shell.environment) as memory:
        first = memory.search("wombat keys")
        monkeypatch.setenv("PATH", "")  # there is no git any more
        assert memory.search("wombat keys").notes == first.notes
    assert "is not indexed" in str(first.notes)


def test_logs_never_leave_the_machine(shell: Shell, backend: str) -> None:
    write_log(shell)
    shell.ok("mem", "index")
    assert found(shell, "tiles are quokkas")[0] == ("conv-tiles-2025-12-15-phase1", "personal")
    with Memory(Places(shell.home, shell.cwd)) as memory:
        location = memory.admin.location
        texts = [chunk.content for chunk in memory.admin.chunks()]
    assert not any("Tiles" in text for text in texts)
    if backend == "postgres":
        assert isinstance(location, PostgresLocation)
        assert "Tiles" not in dumped(location)


def dumped(location: PostgresLocation) -> str:
    """Every row of every table, as text."""
    with psycopg.connect(location.url) as server:
        tables = server.execute(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        return "\n".join(
            str(row)
            for (name,) in tables
            for row in server.execute(f"SELECT t::text FROM {name} t")
        )


def test_logs_that_an_older_version_kept_in_the_project_move_with_their_uses(shell: Shell) -> None:
    log = write_log(shell)
    shell.ok("mem", "index")
    id_ = "conv-tiles-2025-12-15-phase1"
    with Memory(Places(shell.home, shell.cwd)) as memory:
        personal = memory.personal
        assert personal is not None
        records = list(personal.admin.store.maintenance.iter_records())
        states = list(personal.admin.store.chunks.file_states().values())
        personal.close()
        shutil.rmtree(shell.home / "indexes", ignore_errors=True)
        for file in shell.home.glob("memory.db*"):
            file.unlink()
        store = memory.admin.store
        store.maintenance.put_records(records)
        store.chunks.add_files(states)
        store.chunks.record_access(id_, NOW)
    shell.ok("mem", "index")
    with Memory(Places(shell.home, shell.cwd)) as memory:
        assert memory.admin.store.chunks.find_below(str(log.parent)) == []
        assert memory.personal is not None
        assert memory.personal.admin.store.chunks.get_accesses([id_]) == {id_: (NOW,)}


def test_a_workspace_is_one_ranking(shell: Shell) -> None:
    shell.ok("mem", "index")
    api = another(shell)
    assert "has no memory" in shell.fails("workspace", "add", "../api")
    shell.ok("mem", "index", cwd=api)
    shell.ok("workspace", "add", "../api")
    assert shell.ok("workspace", "list").startswith("api  ")
    assert [memory for _, memory in found(shell, "quokka")] == ["web"]
    both = dict(found(shell, "quokka", "--workspace"))
    assert both == {"app.py:parse_quokka": "web", f"{api}/src/serve.py:serve_quokka": "api"}
    assert list(dict(found(shell, "quokka", "--memory", "api")).values()) == ["api"]
    assert "def serve_quokka" in shell.ok("mem", "get", f"{api}/src/serve.py:serve_quokka")
    assert "there are web, api" in shell.fails("mem", "search", "quokka", "--memory", "apo")
    shell.ok("workspace", "remove", "api")
    assert list(dict(found(shell, "quokka", "--workspace")).values()) == ["web"]


def test_two_repositories_of_one_name_need_names(shell: Shell) -> None:
    for folder in ("one/api", "two/api"):
        shell.ok("mem", "index", cwd=another(shell, folder))
    shell.ok("workspace", "add", "../one/api")
    assert "that name is taken" in shell.fails("workspace", "add", "../two/api")
    shell.ok("workspace", "add", "../two/api", "--name", "api2")
    assert len(shell.ok("workspace", "list").splitlines()) == 2


def test_a_file_of_a_clone_adds_nothing_to_the_workspace(shell: Shell) -> None:
    secret = another(shell, "secret")
    shell.ok("mem", "index", cwd=secret)
    shell.ok("mem", "index")
    write_tree(shell.cwd / ".aurora", {"workspace.json": json.dumps({"secret": str(secret)})})
    assert shell.ok("workspace", "list") == ""
    assert [memory for _, memory in found(shell, "quokka", "--workspace")] == ["web"]


def test_stats_show_every_layer_with_its_place(shell: Shell) -> None:
    write_log(shell)
    shell.ok("mem", "index")
    assert f"Personal       {shell.home}/memory.db (1 chunk)" in shell.ok("mem", "stats").replace(
        "~", str(shell.home.parent)
    )
    stats = json.loads(shell.ok("mem", "stats", "--json"))
    assert (stats["name"], stats["others"]["personal"]["chunks"]) == ("web", 1)


def test_a_damaged_personal_memory_does_not_keep_the_project_from_answering(shell: Shell) -> None:
    shell.ok("mem", "index")
    shell.ok("mem", "learn", "--private", "wombat keys rotate on Mondays")
    for file in shell.home.glob("memory.db*"):
        file.write_bytes(b"not a database, but long enough" * 99)
    done = shell.run("mem", "search", "quokka")
    assert "app.py" in done.stdout
    assert "The memory personal is left out" in done.stderr


def test_a_lesson_for_the_team_is_a_file_that_a_colleague_finds(shell: Shell) -> None:
    lesson = shell.ok("mem", "learn", "--team", "quokka uploads need a retry").strip()
    assert found(shell, "quokka uploads retry", "--type", "reasoning") == [(lesson, "web")]
    assert git(shell.cwd, "status", "--short", "docs") == "?? docs/\n"
    git(shell.cwd, "add", "docs")
    git(shell.cwd, "commit", "-q", "-m", "a lesson")
    git(shell.cwd.parent, "clone", "-q", "web", "copy")
    copy = shell.cwd.parent / "copy"
    shell.ok("mem", "index", cwd=copy)
    assert lesson in dict(found(shell, "quokka uploads retry", cwd=copy))
    assert "not both" in shell.fails("mem", "learn", "--team", "--private", "a")


def test_the_doctor_moves_documents_to_the_project_they_belong_to(shell: Shell) -> None:
    """Also where the project has no memory yet."""
    write_tree(shell.cwd, {"plan.md": "# Plan\n\nwombats need a permit\n"})
    with Memory(Places(shell.home)) as person:
        document = person.add((shell.cwd / "plan.md").read_text(), path=shell.cwd / "plan.md").id
    told = shell.ok("doctor", "--quick")
    assert "Your own memory holds 1 document of this project: Plan" in told
    done = shell.run("doctor", "--fix", "--quick")
    assert "Moved to the memory of the project: Plan" in done.stderr
    assert "Your own memory holds" not in done.stdout
    memories = {memory for id_, memory in found(shell, "wombats permit") if "plan" in id_}
    assert memories == {"web"}
    assert document not in dict(found(shell, "wombats permit", "--memory", "personal"))


def test_a_repository_that_is_gone_is_left_out_and_named(shell: Shell) -> None:
    shell.ok("mem", "index")
    for name in ("api", "lib"):
        shell.ok("mem", "index", cwd=another(shell, name))
        shell.ok("workspace", "add", f"../{name}")
    shutil.rmtree(shell.cwd.parent / "api")
    shutil.rmtree(shell.cwd.parent / "lib" / ".aurora")
    api, lib = shell.ok("workspace", "list").splitlines()
    assert (api.rpartition("  ")[2], lib.rpartition("  ")[2]) == (
        "(is gone)",
        "(has no memory any more)",
    )
    done = shell.run("mem", "search", "quokka", "--workspace", "--json")
    assert done.returncode == 0
    assert "(api of the workspace) is gone: it is left out" in done.stderr
    assert "(lib of the workspace) has no memory: it is left out" in done.stderr
    notes = json.loads(done.stdout)["notes"]
    assert any("is gone: it is left out" in str(note) for note in notes)
    error = shell.fails("mem", "search", "quokka", "--memory", "api")
    assert "is gone" in error
    assert "aur workspace remove api" in error
    assert "Not in the workspace any more: api at" in shell.run("doctor", "--quick").stdout
    shell.ok("workspace", "remove", "api")
