"""A settings file that came with a clone is not the user's word until the user says so."""

from __future__ import annotations

import pytest

from aurora.config import LoadedSettings, Places, Settings, SettingsFiles
from aurora.config.load import approve
from aurora.config.schema import (
    CATALOGUE,
    BM25Settings,
    EmbeddingSettings,
    RerankSettings,
    SearchSettings,
    StoreSettings,
)
from aurora.errors import ConfigError
from tests.config.world import PROJECT, USER, World

CHOICE = "a project file may not choose models, servers, endpoints or links"
AWAY = "a project file may not have text sent away"
OUTSIDE = "a project file may not lead out of .aurora"
MODEL = "embedding:\n  model: theirs\n"
THEIRS = LoadedSettings(
    Settings(embedding=EmbeddingSettings(model="theirs")), {"embedding.model": PROJECT}
)


def ignored(key: str, reason: str, file: str = PROJECT) -> str:
    return f"Ignored {key} in {file}: {reason} until you run `aur config approve`"


@pytest.mark.parametrize(
    ("key", "content"),
    [
        pytest.param("embedding.provider", "embedding: {provider: none}", id="provider"),
        pytest.param("embedding.model", "embedding: {model: theirs}", id="model"),
        pytest.param("embedding.endpoint", "embedding: {endpoint: http://x.y}", id="endpoint"),
        pytest.param("embedding.model", "embedding: {model: [1]}", id="not-even-valid"),
    ],
)
def test_a_project_may_not_choose_where_text_is_sent(world: World, key: str, content: str) -> None:
    """The value is left out, and a warning names it and the way to allow it."""
    world.write(project=content)
    assert world.load() == LoadedSettings(Settings(), {}, (ignored(key, CHOICE),))


@pytest.mark.parametrize(
    ("key", "content", "reason"),
    [
        pytest.param("llm.endpoint", "llm: {endpoint: http://x.y}", CHOICE, id="endpoint"),
        pytest.param("indexing.ray", "indexing: {ray: 'x.y:6379'}", CHOICE, id="cluster"),
        pytest.param("llm.model", "llm: {model: theirs}", CHOICE, id="model"),
        pytest.param("search.expand", "search: {expand: true}", AWAY, id="queries"),
        pytest.param("search.rerank.by", "search: {rerank: {by: llm}}", AWAY, id="results"),
    ],
)
def test_a_project_may_not_ask_a_language_model(
    world: World, key: str, content: str, reason: str
) -> None:
    world.write(project=content)
    assert world.load() == LoadedSettings(Settings(), {}, (ignored(key, reason),))


def test_a_project_may_choose_what_stays_here(world: World) -> None:
    """A model of this machine sends nothing away, and nor does what turns the other off."""
    world.write(
        user="search: {expand: true}",
        project="search: {expand: false, rerank: {by: local, when: unsure}}",
    )
    loaded = world.load()
    assert loaded.warnings == ()
    assert loaded.settings.search.expand is False
    assert loaded.settings.search.rerank == RerankSettings("local", "unsure")


def test_what_is_harmless_in_the_same_file_holds(world: World) -> None:
    """Only the guarded settings wait for approval."""
    world.write(project=f"search: {{bm25: {{k1: 1.2}}}}\n{MODEL}")
    wanted = Settings(search=SearchSettings(BM25Settings(k1=1.2)))
    assert world.load() == LoadedSettings(
        wanted, {"search.bm25.k1": PROJECT}, (ignored("embedding.model", CHOICE),)
    )


def test_the_users_choice_stays_when_a_project_tries_another(world: World) -> None:
    """A refused value does not hide the layer below."""
    world.write(user="embedding: {model: mine}", project=MODEL)
    wanted = Settings(embedding=EmbeddingSettings(model="mine"))
    assert world.load() == LoadedSettings(
        wanted, {"embedding.model": USER}, (ignored("embedding.model", CHOICE),)
    )


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/elsewhere/memory.db", id="absolute"),
        pytest.param("../../memory.db", id="above"),
        pytest.param("../../workshop/memory.db", id="neighbour-of-like-name"),
        pytest.param("../data/own.db", id="elsewhere-in-the-project"),
        pytest.param("~/memory.db", id="home"),
        pytest.param("../link/memory.db", id="through-a-link"),
        pytest.param("../link/../memory.db", id="above-a-link"),
        pytest.param("../loop/memory.db", id="link-in-a-circle"),
        pytest.param("~nobody-of-that-name/memory.db", id="home-of-nobody"),
        pytest.param('"a\\0b"', id="no-path-at-all"),
    ],
)
def test_a_project_may_not_lead_out_of_its_memory_folder(world: World, path: str) -> None:
    """However the path is spelled, and whatever links the clone brought along."""
    (world.root / "elsewhere").mkdir()
    world.write(project=f"store:\n  path: {path}\n")
    (world.project / "link").symlink_to(world.root / "elsewhere")
    (world.project / "loop").symlink_to("loop")
    assert world.load() == LoadedSettings(Settings(), {}, (ignored("store.path", OUTSIDE),))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("own.db", id="beside-the-file"),
        pytest.param("data/own.db", id="below-the-folder"),
        pytest.param("../../code/.aurora/own.db", id="out-and-in-again"),
    ],
)
def test_a_path_inside_the_memory_folder_is_fine(world: World, path: str) -> None:
    """A relative path starts at the project's `.aurora` and needs no approval."""
    world.write(project=f"store:\n  path: {path}\n")
    wanted = Settings(store=StoreSettings(path))
    assert world.load() == LoadedSettings(wanted, {"store.path": PROJECT})


def test_a_project_reached_through_a_link_is_still_itself(world: World) -> None:
    """Working in ~/link, which is ~/code, makes nothing outside."""
    path = world.project / ".aurora" / "own.db"
    world.write(project=f"store:\n  path: {path}\n")
    link = world.root / "link"
    link.symlink_to(world.project)
    loaded = SettingsFiles(Places(world.home, link)).current()
    assert loaded.settings == Settings(store=StoreSettings(str(path)))


def test_the_users_own_file_and_environment_are_not_restricted(world: World) -> None:
    """Guards are about strangers."""
    world.write(user="store: {path: /elsewhere/a.db}\nembedding: {endpoint: http://x.y}\n")
    wanted = Settings(
        store=StoreSettings("/elsewhere/a.db"),
        embedding=EmbeddingSettings(model="mine", endpoint="http://x.y"),
    )
    variable = "AURORA_EMBEDDING_MODEL"
    assert world.load({variable: "mine"}) == LoadedSettings(
        wanted,
        {
            "store.path": USER,
            "embedding.endpoint": USER,
            "embedding.model": f"the environment ({variable})",
        },
    )


@pytest.mark.parametrize(
    ("key", "within", "beyond"),
    [
        ("indexing.workers", "indexing: {workers: 4}", "indexing: {workers: 1000}"),
        ("llm.seconds", "llm: {seconds: 30}", "llm: {seconds: 30.1}"),
        (
            "search.rerank.seconds",
            "search: {rerank: {seconds: 10}}",
            "search: {rerank: {seconds: 600}}",
        ),
        (
            "search.hybrid.stage1_top_k",
            "search: {hybrid: {stage1_top_k: 1000}}",
            "search: {hybrid: {stage1_top_k: 1000000}}",
        ),
    ],
)
def test_a_project_may_not_take_much_time_or_memory(
    world: World, key: str, within: str, beyond: str
) -> None:
    most = CATALOGUE[key].unapproved_most
    world.write(project=within)
    assert world.load().origins == {key: PROJECT}
    world.write(project=beyond)
    reason = f"a project file may not set more than {most:g}"
    assert world.load() == LoadedSettings(Settings(), {}, (ignored(key, reason),))
    approve(world.home, world.project_file)
    assert world.load().origins == {key: PROJECT}


def test_an_approved_file_may_choose(world: World) -> None:
    """Approval is seen by the next call, and by the next process."""
    world.write(project=MODEL)
    files = world.files()
    assert files.current().settings == Settings()
    approve(world.home, world.project_file)
    assert files.current() == THEIRS
    assert world.load() == THEIRS


def test_an_edited_file_must_be_approved_again(world: World) -> None:
    """Approval is of a content: one letter more and it is void; the old content has it back."""
    world.write(project=MODEL)
    approve(world.home, world.project_file)
    files = world.files()
    world.write(project=f"{MODEL}#")
    assert files.current() == LoadedSettings(Settings(), {}, (ignored("embedding.model", CHOICE),))
    world.write(project=MODEL)
    assert files.current() == THEIRS


def test_approval_does_not_spread_to_another_project(world: World) -> None:
    """The same text in another clone is another file."""
    world.write(project=MODEL)
    approve(world.home, world.project_file)
    other = world.root / "other"
    (other / ".aurora").mkdir(parents=True)
    (other / ".aurora" / "config.yml").write_text(MODEL, encoding="utf-8")
    loaded = SettingsFiles(Places(world.home, other)).current()
    told = ignored("embedding.model", CHOICE, "~/other/.aurora/config.yml")
    assert loaded == LoadedSettings(Settings(), {}, (told,))
    approve(world.home, other / ".aurora" / "config.yml")
    assert SettingsFiles(Places(world.home, other)).current().warnings == ()
    assert world.load() == THEIRS


def test_a_project_cannot_approve_itself(world: World) -> None:
    """A list of approvals inside the clone is not looked at."""
    world.write(project=MODEL)
    approve(world.project_file.parent, world.project_file)
    assert world.load().settings == Settings()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{", id="truncated"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff", id="not-utf-8"),
        pytest.param(b"[]", id="not-a-map"),
    ],
)
def test_a_broken_list_of_approvals_is_an_error_with_a_way_out(
    world: World, content: bytes
) -> None:
    """Nothing is guessed: neither that all is approved nor that nothing ever was."""
    world.write(user="", project=MODEL)
    file = world.home / "approved.json"
    file.write_bytes(content)
    for broken in (world.load, lambda: approve(world.home, world.project_file)):
        with pytest.raises(ConfigError) as caught:
            broken()
        assert str(file) in caught.value.message
        assert caught.value.hint == (
            "delete the file and approve your projects again with `aur config approve`"
        )
    assert file.read_bytes() == content


def test_a_home_that_cannot_hold_a_list_is_an_error(world: World) -> None:
    """A file where the folder should be is told as such, not as a crash."""
    world.write(project=MODEL)
    world.home.write_text("in the way", encoding="utf-8")
    with pytest.raises(ConfigError):
        approve(world.home, world.project_file)


def test_approving_leaves_one_file(world: World) -> None:
    """The home is made when needed, the list replaced in one step, and no scratch file stays."""
    world.write(project=MODEL)
    home = world.root / "moved" / "home"
    approve(home, world.project_file)
    assert list(home.iterdir()) == [home / "approved.json"]
