"""Memory, as a Python program uses it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora import Memory, Places, Settings
from aurora.config import SettingsFiles
from aurora.config.schema import (
    EmbeddingSettings,
    HybridSettings,
    HybridWeights,
    SearchSettings,
)
from aurora.errors import (
    AuroraError,
    ChunkNotFoundError,
    IndexFileError,
    NoMemoryError,
    SourceError,
)
from aurora.indexing.embedding import QUICK_FROM, Embedded
from aurora.types import Event, Kind, Mode, Note
from tests.builders import NOW, make_chunk, write_tree

FILES: dict[str, str | bytes] = {
    "app.py": '"""An app."""\n\n\ndef main():\n    serve("8080")\n',
    "auth/login.py": "class Login:\n    def check(self, password):\n        hash(password)\n",
    "auth/logout.py": "def check(session):\n    session.clear()\n",
    "settings.py": "PORT = 8080\nHOST = 'localhost'\n",
    "README.md": "# Demo\n\nHow to open the demo.\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write_tree(tmp_path / "project", FILES)
    (root / ".aurora").mkdir()
    return root


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Iterator[Memory]:
    with Memory(Places(tmp_path / "home", project), now=lambda: NOW) as memory:
        yield memory


def test_a_walk_from_files_to_results(memory: Memory, project: Path) -> None:
    report = memory.index(project)

    assert (report.scanned, report.parsed, len(report.warnings)) == (5, 5, 1)  # no logs
    best = memory.search("check password").results[0]
    assert (best.chunk_id, best.chunk.kind) == ("auth/login.py:Login.check", Kind.METHOD)


def test_the_first_index_hides_the_memory_from_git(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "fresh", FILES)
    with Memory(Places(tmp_path / "home", root)) as memory:
        memory.index(root)
    assert (root / ".aurora" / ".gitignore").read_text() == "*\n"


def test_files_without_a_function_are_found_too(memory: Memory, project: Path) -> None:
    memory.index(project)
    assert memory.search("HOST localhost").results[0].chunk.path == "settings.py"
    assert memory.search("how to open the demo").results[0].chunk.path == "README.md"


def test_searching_before_indexing_says_what_to_do(memory: Memory) -> None:
    with pytest.raises(NoMemoryError, match="no memory yet") as caught:
        memory.search("anything")
    assert "aur mem index" in caught.value.hint
    assert not memory.admin.path.exists()


def test_indexing_a_missing_path_makes_nothing(memory: Memory, project: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        memory.index(project / "nowhere")
    assert not memory.admin.path.exists()


def test_a_query_of_a_megabyte_is_answered(memory: Memory, project: Path) -> None:
    memory.index(project)
    for noise in ("password ", "?! ", "认证"):
        text = noise * (1_000_000 // len(noise.encode())) + " Login.check"
        found = memory.search(text)
        assert found.results[0].chunk_id == "auth/login.py:Login.check"
        assert any("only the beginning and the end" in note.text for note in found.notes)


def test_what_results_show_of_a_log_is_enough_to_open_it(memory: Memory, project: Path) -> None:
    """Its id is made otherwise; a file's name and a heading may both have a colon."""
    memory.index(project)
    log = make_chunk(
        "Why.", "talks/a:b.md", "Response", id="conv-a-phase9", qualified_name="Login: why.Response"
    )
    memory.admin.store.chunks.put_chunks([log])
    assert memory.get("talks/a:b.md:Login: why.Response") == log
    for other in ("talks/a:b.md:Login", ":", "a:b:c:d", "talks:Login: why.Response"):
        with pytest.raises(ChunkNotFoundError):
            memory.get(other)


def test_weights_that_the_fusion_does_not_use_are_named_once(project: Path, tmp_path: Path) -> None:
    heard: list[Event] = []
    weights = HybridWeights(bm25=0.5, semantic=0.2, activation=0.3)
    settings = Settings(search=SearchSettings(hybrid=HybridSettings(weights=weights)))
    with Memory(Places(tmp_path / "home", project), settings, listen=heard.append) as memory:
        memory.index(project)
        heard.clear()
        assert memory.search("password", fusion="staged").notes == ()
        note = Note(
            "No effect: search.hybrid.weights (the program). The fusion auto does not use them: "
            "set `search.fusion` to staged, or remove them",
            warning=True,
        )
        assert note in memory.search("password").notes
        assert note not in memory.search("password").notes
        assert heard.count(note) == 1


def test_missing_logs_are_named_once(memory: Memory, project: Path) -> None:
    assert [text[:26] for text in memory.index(project).warnings] == ["No conversation logs found"]
    assert memory.index(project).warnings == ()


def test_better_vectors_of_a_first_index_are_no_surprise(project: Path, tmp_path: Path) -> None:
    """Enough chunks for quick vectors, which the same run replaces."""
    functions = (f"def work_{n}():\n    return {n}\n" for n in range(QUICK_FROM))
    write_tree(project, {"many.py": "\n\n".join(functions)})
    heard: list[Event] = []
    with Memory(Places(tmp_path / "home", project), listen=heard.append) as memory:
        memory.index(project)
        assert memory.stats().embedder is not None
        memory.search("work_7")
    notes = [event.text for event in heard if isinstance(event, Note)]
    assert notes == ["Everything can be found now; the better vectors of aurora/deep follow"]


def test_the_settings_limit_a_search_that_does_not(project: Path, tmp_path: Path) -> None:
    settings = Settings(search=SearchSettings(limit=2))
    with Memory(Places(tmp_path / "home", project), settings) as memory:
        memory.index(project)
        assert len(memory.search("check password demo main").results) == 2
        assert len(memory.search("check password demo main", limit=3).results) == 3


def test_a_symbol_is_opened_by_file_and_name(memory: Memory, project: Path) -> None:
    memory.index(project)
    code = make_chunk("LIMIT = 3", "deep/a.py", "a", metadata={"symbols": [["LIMIT", "c", 1, 1]]})
    memory.admin.store.chunks.put_chunks([code])
    assert memory.get("deep/a.py:LIMIT") == code
    assert memory.get("a.py:LIMIT", here="deep") == code


def test_a_name_seen_from_a_folder_comes_before_the_same_from_the_root(memory: Memory) -> None:
    """A search in that folder shows it so."""
    memory.admin.create()
    outer, inner = make_chunk("1", "a.py", "f"), make_chunk("2", "deep/a.py", "f")
    memory.admin.store.chunks.put_chunks([outer, inner])
    assert memory.get("a.py:f", here="deep") == inner
    assert memory.get("../a.py:f", here="deep") == memory.get("a.py:f") == outer


def test_an_id_may_be_typed_as_on_windows(memory: Memory, project: Path) -> None:
    """Ids have `/` everywhere, so that a memory means the same on every machine."""
    memory.index(project)
    assert memory.get("auth\\login.py:Login.check").id == "auth/login.py:Login.check"


def test_opening_a_chunk_is_an_access_and_listing_it_is_not(memory: Memory, project: Path) -> None:
    memory.index(project)
    for _ in range(3):
        memory.search("password")
    assert memory.admin.store.chunks.get_accesses(["auth/login.py:Login.check"]) == {}
    memory.get("auth/login.py:Login.check")
    accesses = memory.admin.store.chunks.get_accesses(["auth/login.py:Login.check"])
    assert accesses == {"auth/login.py:Login.check": (NOW,)}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("auth/login.py:Login.check", "auth/login.py:Login.check"),
        ("login.py:Login.check", "auth/login.py:Login.check"),
        ("Login.check", "auth/login.py:Login.check"),
        ("main", "app.py:main"),
    ],
)
def test_a_chunk_by_its_id_or_a_clear_ending(
    memory: Memory, project: Path, given: str, found: str
) -> None:
    memory.index(project)
    assert memory.get(given).id == found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nothing", "no chunk 'nothing'"),
        ("", "no chunk ''"),
        ("check", "could be auth/login.py:Login.check, auth/logout.py:check"),
        ("%", "no chunk '%'"),
    ],
)
def test_an_unclear_id_is_an_error_with_a_hint(
    memory: Memory, project: Path, given: str, message: str
) -> None:
    memory.index(project)
    with pytest.raises(ChunkNotFoundError, match=message) as caught:
        memory.get(given)
    assert caught.value.hint


def test_an_unclear_id_is_answered_with_ids_as_seen_from_here(
    memory: Memory, project: Path
) -> None:
    memory.index(project)
    with pytest.raises(ChunkNotFoundError, match=r"could be login.py:Login.check, logout.py:check"):
        memory.get("check", here="auth")


def test_ut_config_07_changes_take_effect_on_the_next_search(
    memory: Memory, project: Path, tmp_path: Path
) -> None:
    """Seed 000, FR-9.5: the same Memory object, no restart."""
    memory.index(project)
    before = memory.search("password").results[0].contributions
    config = tmp_path / "home" / "config.yml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("search:\n  bm25:\n    k1: 0.0\n", encoding="utf-8")

    after = memory.search("password").results[0].contributions

    assert (after[0].signal, before[0].signal) == ("bm25", "bm25")
    assert after[0].raw != before[0].raw
    config.write_text("search:\n  bm25:\n    k1: -1\n", encoding="utf-8")
    with pytest.raises(AuroraError, match=r"search\.bm25\.k1: Must be ≥ 0\.0 \(got -1\)"):
        memory.search("password")
    config.unlink()
    assert memory.search("password").results[0].contributions == before


def test_an_index_written_by_another_process_is_noticed(
    memory: Memory, project: Path, tmp_path: Path
) -> None:
    memory.index(project)
    assert memory.search("brand_new_word", mode="keyword").results == ()
    write_tree(project, {"new.py": "def brand_new_word(): pass\n"})
    with Memory(Places(tmp_path / "home", project)) as other:
        other.index(project)
    for mode in ("keyword", "hybrid"):
        found = memory.search("brand_new_word", mode=mode).results
        assert found[0].chunk_id == "new.py:brand_new_word"
    assert len(memory.search("brand_new_word", mode="keyword").results) == 1


def test_stats_tell_what_there_is(memory: Memory, project: Path) -> None:
    memory.index(project)
    stats = memory.stats()
    assert stats.chunks == {
        Kind.CLASS: 1, Kind.CODE: 2, Kind.FUNCTION: 2, Kind.METHOD: 1, Kind.KNOWLEDGE: 1,
    }  # fmt: skip
    assert (stats.files, stats.namespaces, stats.name) == (5, {"": 7}, memory.admin.path)
    assert stats.bytes > 0
    owner = stats.embedder
    assert (stats.indexed_at, owner and owner.name, stats.embedded) == (NOW, "aurora/deep", 7)
    assert stats.index_bytes == stats.index_path.stat().st_size > 0


def test_without_an_embedder_there_are_no_vectors_and_no_index_of_them(
    project: Path, tmp_path: Path
) -> None:
    places = Places(tmp_path / "home", project)
    settings = SettingsFiles(places, {"AURORA_EMBEDDING_PROVIDER": "none"})
    with Memory(places, settings, now=lambda: NOW) as memory:
        report = memory.index(project, git=False)
        stats = memory.stats()
        assert (report.embedded, report.is_partial) == (Embedded(), False)
        assert (sum(stats.chunks.values()), stats.embedder, stats.embedded) == (7, None, 0)
        files = {file.name for file in memory.admin.index_path.parent.iterdir()}
        assert files == {"bm25.idx", "looks.json"}


def test_rebuilding_counts_the_chunks(memory: Memory, project: Path) -> None:
    memory.index(project)
    memory.admin.index_path.unlink()
    assert memory.admin.rebuild_bm25() == 7
    assert memory.admin.index_path.exists()


def test_a_rebuild_counts_what_it_built(memory: Memory, project: Path, tmp_path: Path) -> None:
    """FR-8.3: a file that another process forgets meanwhile is noticed, and said."""
    write_tree(project, {"many.py": "\n".join(f"def f{n}(): pass" for n in range(1000))})
    memory.index(project, quick=True)

    def forget_a_file(_: Event) -> None:
        (project / "app.py").unlink(missing_ok=True)
        with Memory(Places(tmp_path / "home", project)) as other:
            other.index(project, quick=True)

    with (
        Memory(Places(tmp_path / "home", project), listen=forget_a_file) as slow,
        pytest.raises(IndexFileError, match="holds 1007 chunks, the memory 1005"),
    ):
        slow.admin.rebuild_bm25()
    assert "app.py" not in {result.chunk.path for result in memory.search("serve main").results}


def test_deleting_every_derived_file_loses_nothing(memory: Memory, project: Path) -> None:
    memory.index(project)
    before = memory.search("password").results
    memory.close()
    memory.admin.index_path.unlink()
    assert memory.search("password").results == before


def test_the_database_can_be_elsewhere(project: Path, tmp_path: Path) -> None:
    home = write_tree(tmp_path / "home", {"config.yml": f"store:\n  path: {tmp_path}/else/m.db\n"})
    with Memory(Places(home, project)) as memory:
        memory.index(project)
        assert memory.search("password").results
    assert (tmp_path / "else" / "m.db").exists()
    assert (tmp_path / "else" / "indexes" / "bm25.idx").exists()
    assert not (project / ".aurora" / "memory.db").exists()


def test_threads_share_one_memory(memory: Memory, project: Path) -> None:
    memory.index(project)
    memory.close()
    found: list[str] = []

    def search() -> None:
        found.extend(result.chunk_id for result in memory.search("password", limit=1).results)

    threads = [threading.Thread(target=search) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["auth/login.py:Login.check"] * 10


def test_events_reach_the_listener(project: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    with Memory(Places(tmp_path / "home", project), listen=events.append) as memory:
        memory.index(project)
        memory.admin.index_path.write_bytes(b"broken")
        memory.close()
        memory.search("password")
    assert Note("BM25 index corrupted, rebuilding...", warning=True) in events


def test_a_memory_deleted_under_an_open_one_is_made_anew(memory: Memory, project: Path) -> None:
    memory.index(project)
    shutil.rmtree(project / ".aurora")
    with pytest.raises(NoMemoryError):
        memory.search("password")

    assert memory.index(project).parsed == 5
    with Memory(memory.places) as other:
        assert other.search("check password").results


def test_another_database_takes_effect_with_the_next_call(memory: Memory, project: Path) -> None:
    memory.index(project)
    (project / ".aurora" / "config.yml").write_text("store:\n  path: other.db\n")
    with pytest.raises(NoMemoryError, match=r"other\.db"):
        memory.search("password")


def test_two_projects_may_share_one_database(tmp_path: Path) -> None:
    """Relative names would make the second project's files replace the first one's."""
    settings = {"AURORA_STORE_PATH": str(tmp_path / "shared.db")}
    for name in ("one", "two"):
        root = write_tree(tmp_path / name, {"app.py": f"def only_in_{name}(): pass\n"})
        places = Places(tmp_path / "home", root)
        with Memory(places, SettingsFiles(places, settings)) as memory:
            memory.index(root)
    with Memory(places, SettingsFiles(places, settings)) as memory:
        assert memory.stats().files == 2
        first = memory.search("only_in_one").results[0]
    assert first.chunk_id == f"{tmp_path}/one/app.py:only_in_one"


def test_a_restored_memory_never_passes_for_a_later_one(memory: Memory, project: Path) -> None:
    """The database is the truth: a copy of it may come back while the derived index stays."""
    memory.index(project)
    memory.close()
    backup = memory.admin.path.read_bytes()
    for name in ("bravo", "charlie"):
        memory.admin.path.write_bytes(backup)
        write_tree(project, {"app.py": f"def {name}_{len(name)}(): pass\n"})
        memory.index(project)
        memory.close()
    found = memory.search("charlie", mode="keyword").results
    assert [result.chunk_id for result in found] == ["app.py:charlie_7"]
    everything = memory.search("bravo charlie", min_score=0.0).results
    assert "app.py:charlie_7" in [result.chunk_id for result in everything]
    assert "app.py:bravo_5" not in [result.chunk_id for result in everything]


def test_open_finds_what_the_command_line_uses(project: Path, tmp_path: Path) -> None:
    """The nearest `.aurora`, the settings files, and the environment."""
    environ = {"AURORA_HOME": str(tmp_path / "home"), "AURORA_SEARCH_MODE": "keyword"}
    config = "search:\n  bm25:\n    k1: 1.7\nembedding:\n  model: shallow\n"
    write_tree(project, {".aurora/config.yml": config})
    heard: list[Event] = []
    with Memory.open(project / "auth", environ=environ, listen=heard.append) as memory:
        (note,) = heard
        assert isinstance(note, Note)
        assert "aur config approve" in note.text
        assert memory.places == Places(tmp_path / "home", project)
        assert memory.settings.search.mode == "keyword"
        assert memory.settings.search.bm25.k1 == 1.7
        memory.index(str(project))
        results = memory.search("check password")
        assert (results.mode, results.results[0].chunk.path) == (Mode.KEYWORD, "auth/login.py")


def test_open_reads_the_environment_of_the_process(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("AURORA_SEARCH_MODE", "semantic")
    monkeypatch.chdir(project / "auth")
    memory = Memory.open()
    assert memory.places == Places(tmp_path / "other", project)
    assert memory.settings.search.mode == "semantic"
    assert Memory.open(environ={"HOME": str(tmp_path)}).settings.search.mode == "hybrid"


def test_open_takes_settings_in_place_of_all_others(project: Path, tmp_path: Path) -> None:
    environ = {"AURORA_HOME": str(tmp_path / "home"), "AURORA_SEARCH_MODE": "keyword"}
    settings = Settings(embedding=EmbeddingSettings(provider="none"))
    with Memory.open(project, settings=settings, environ=environ) as memory:
        assert memory.settings is settings
        assert memory.index(project).embedded == Embedded()
        assert memory.search("check password").results


def test_settings_may_be_given_as_values(project: Path, tmp_path: Path) -> None:
    with Memory(Places(tmp_path / "home", project), Settings()) as memory:
        memory.index(project)
        assert memory.search("check password").results


def test_in_a_repository_the_first_index_starts_a_project(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "code", FILES)
    subprocess.run(["git", "init", "-q", root], check=True)
    with Memory.open(root / "auth", environ={"AURORA_HOME": str(tmp_path / "home")}) as memory:
        assert memory.places.project is None
        memory.index(root)
        assert memory.name == root / ".aurora" / "memory.db"
        assert memory.search("check password").results
    assert not (tmp_path / "home" / "memory.db").exists()


def test_a_folder_that_is_not_there_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not a folder"):
        Memory.open(tmp_path / "nowhere")


def test_forget_takes_a_word_or_ids(memory: Memory, project: Path) -> None:
    memory.index(project)
    assert memory.forget(str(project / "auth")) == 3
    assert memory.forget(["settings.py:module"]) == 1
    assert memory.forget("namespace:none") == 0
