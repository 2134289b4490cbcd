"""What is costly is made once per user: no branch, clone or worktree embeds or blames again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from aurora import Memory, Places
from aurora.stores.base import Embedder
from aurora.stores.vector_cache import VectorCache
from aurora.types import ChunkHistory
from tests.backends import keep_on_server
from tests.builders import write_tree
from tests.embedders import WordsProvider
from tests.sources.repository import git, own_git

__all__ = ["own_git"]


@dataclass
class CountingProvider(WordsProvider):
    """Remembers every text that it embeds."""

    dimension: int = 64
    texts: list[str] = field(default_factory=list)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return super().embed_batch(texts)

    def count(self) -> int:
        """The number of texts since the last count."""
        count, self.texts = len(self.texts), []
        return count


@dataclass
class Desk:
    """A user's home, and a repository with two branches: `main`, and `other` with other files."""

    home: Path
    project: Path
    provider: CountingProvider = field(default_factory=CountingProvider)

    def memory(self, project: Path | None = None) -> Memory:
        return Memory(Places(self.home, project or self.project), embedder=self.provider)

    def index(self, branch: str = "", project: Path | None = None) -> tuple[int, int]:
        """Index a branch; the numbers of embedded texts and of vectors from the cache."""
        folder = project or self.project
        if branch:
            git(folder, "checkout", "--quiet", branch)
        with self.memory(folder) as memory:
            embedded = memory.index(folder).embedded
        return self.provider.count(), embedded.cached


def commit_all(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "more")


def histories(desk: Desk) -> Mapping[str, ChunkHistory]:
    with desk.memory() as memory:
        ids = [chunk.id for chunk in memory.admin.chunks()]
        found = memory.admin.store.chunks.get_histories(ids)
    return {id_: replace(history, read_at=None) for id_, history in found.items()}


def function(name: str, value: int) -> str:
    return f"def {name}():\n    return {value}\n"


@pytest.fixture
def desk(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    desk = Desk(tmp_path / "home", tmp_path / "project")
    files = {f"m{n}.py": function(f"heron_{n}", n) for n in range(6)}
    write_tree(desk.project, files)
    git(desk.project, "init", "--quiet")
    commit_all(desk.project)
    git(desk.project, "checkout", "--quiet", "-b", "other")
    changed = {f"m{n}.py": function(f"stork_{n}", n) for n in range(3)}
    write_tree(desk.project, {**changed, "new.py": function("crane", 7)})
    commit_all(desk.project)
    git(desk.project, "checkout", "--quiet", "main")
    (desk.project / ".aurora").mkdir(mode=0o700)
    if backend == "postgres":
        keep_on_server(desk.project, desk.home, request.getfixturevalue("postgres_url"))
    return desk


@pytest.fixture
def indexed(desk: Desk) -> Desk:
    """Both branches were indexed; `other` is checked out."""
    assert desk.index() == (7, 0)  # six texts, and the word of their paths
    made, cached = desk.index("other")
    assert made >= 4
    assert cached == 0
    return desk


def test_a_branch_switched_back_embeds_nothing(indexed: Desk) -> None:
    assert indexed.index("main") == (0, 3)
    assert indexed.index("other") == (0, 4)
    with indexed.memory() as memory:
        assert memory.search("crane").results[0].chunk.path == "new.py"


def test_a_clone_embeds_nothing(indexed: Desk, tmp_path: Path) -> None:
    clone = tmp_path / "elsewhere" / "clone"
    git(tmp_path, "clone", "--quiet", str(indexed.project), str(clone))
    (clone / ".aurora").mkdir(mode=0o700)
    assert indexed.index("other", clone) == (0, 7)
    with indexed.memory(clone) as memory:
        assert memory.search("heron_5").results[0].chunk.path == "m5.py"


def test_a_worktree_embeds_nothing(indexed: Desk, tmp_path: Path) -> None:
    """It is a memory of its own here, as one that an older version indexed."""
    tree = tmp_path / "tree"
    git(indexed.project, "worktree", "add", "--quiet", str(tree), "main")
    (tree / ".aurora").mkdir(mode=0o700)
    assert indexed.index(project=tree) == (0, 6)


def test_another_model_embeds_by_itself(indexed: Desk) -> None:
    indexed.provider = CountingProvider(fingerprint="2")
    with indexed.memory() as memory:
        assert memory.admin.reembed().is_done
    assert indexed.provider.count() > 0
    indexed.provider = CountingProvider()
    with indexed.memory() as memory:
        assert memory.admin.reembed().embedded.cached == 7
    assert indexed.provider.count() == 0


def test_forgetting_removes_the_vectors_of_all_versions(indexed: Desk) -> None:
    """`m0.py` has a version on each branch; that of `main` is in no memory now."""
    with indexed.memory() as memory:
        ids = memory.admin.find_to_forget("m0.py")
        assert memory.forget(ids) == 1
    made, cached = indexed.index("main")
    assert made == 2  # its text and its path
    assert cached == 2
    made, cached = indexed.index("other")
    assert made == 2
    assert cached == 3


def test_a_document_and_a_lesson_are_forgotten_as_well(desk: Desk) -> None:
    with desk.memory() as memory:
        lesson = memory.learn("ibises nest in May")
        assert desk.provider.count() == 1
        memory.forget([lesson.id])
        memory.learn("ibises nest in May")
        assert desk.provider.count() == 1
        memory.learn("ibises nest in May")
        assert desk.provider.count() == 0


@pytest.mark.parametrize("damage", ["damaged", "unwritable", "missing"])
def test_a_cache_that_cannot_be_used_costs_only_time(indexed: Desk, damage: str) -> None:
    folder = indexed.home / "cache" / "vectors"
    shutil.rmtree(folder)
    if damage == "damaged":
        with VectorCache(folder).open(Embedder("words", 64, "1")):
            pass
        [file] = folder.glob("*.db")
        file.write_bytes(b"no database")
    elif damage == "unwritable":
        folder.write_text("a file is in the way")
    made, cached = indexed.index("main")
    assert made > 0
    assert cached == 0
    with indexed.memory() as memory:
        assert memory.search("heron_1").results[0].chunk.path == "m1.py"


def test_a_branch_switched_back_runs_no_blame(
    indexed: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that does no blame and no replay: the histories are known by their commit."""
    before = histories(indexed)
    assert len(before) == 7
    real = shutil.which("git")
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *blame*|*"diff --"*) echo "$*" >> {tmp_path}/blamed;; esac\n'
        f'exec "{real}" "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=":")
    indexed.index("main")
    indexed.index("other")
    assert not (tmp_path / "blamed").exists()
    assert histories(indexed) == before
