"""The parts of one memory: its settings, its store, its models and its retriever.

Each part is opened by the first call that needs it, once for all threads, and again after its
file or its settings changed. `Memory` and `MemoryAdmin` work on one `OpenedMemory`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from aurora.config import LoadedSettings, Places, Settings, SettingsFiles
from aurora.config.places import CACHE, make_project, shown
from aurora.config.schema import CATALOGUE, LlmSettings, StoreSettings, value_of
from aurora.config.worktrees import names_of_checkouts
from aurora.embeddings.registry import share_of, trust_of
from aurora.engine.adoption import KnownMemory, judge, known_memory, make_own
from aurora.engine.embedders import Embedders
from aurora.engine.location import INDEXES, PostgresLocation, SqliteLocation, StoreLocation
from aurora.engine.working_copies import server_checkout, worktree_checkout
from aurora.errors import (
    AuroraError,
    ChunkNotFoundError,
    NoMemoryError,
    SourceError,
    StoreFormatError,
)
from aurora.files import require_own
from aurora.quick_classes import replace
from aurora.stores.base import Checkout, Store, Work
from aurora.types import Listener, Mode, Note, Progress, Rerank

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.engine.language_model import LlmHelp
    from aurora.retrieval.config import HybridConfig
    from aurora.retrieval.rerank import Reranker
    from aurora.retrieval.retriever import HybridRetriever, RetrieverCache
    from aurora.stores.sqlite.store import SQLiteStore

T = TypeVar("T")

_STAGE2 = "search.hybrid.stage2_weights."


def utc_now() -> datetime:
    return datetime.now(UTC)


class FixedSettings(SettingsFiles):
    """Settings that a program passes in. No settings file is read."""

    def __init__(
        self, places: Places, settings: Settings, environ: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(places, environ or {})
        self._settings = settings
        defaults = Settings()
        changed = (key for key in CATALOGUE if value_of(settings, key) != value_of(defaults, key))
        self._fixed = LoadedSettings(settings, dict.fromkeys(changed, "the program"))

    def elsewhere(self, places: Places) -> SettingsFiles:
        return FixedSettings(places, self._settings, self.environ)

    def current(self) -> LoadedSettings:
        return self._fixed


def find_settings(
    folder: Path, settings: Settings | None, environ: Mapping[str, str] | None
) -> SettingsFiles:
    """The places and settings that `aur` would use in a folder.

    `environ` replaces the environment variables of the process.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder} is not a folder", hint="name a folder that exists")
    variables = os.environ if environ is None else environ
    places = Places.find(folder.resolve(), variables)
    if settings is not None:
        return FixedSettings(places, settings, variables)
    return SettingsFiles(places, variables)


class _Setup:
    """The settings and the folders of one memory at one moment."""

    def __init__(self, opened: OpenedMemory) -> None:
        self.loaded = opened.files.current()
        self.location = opened.locate(self.loaded.settings.store)
        self._opened = opened

    @cached_property
    def root(self) -> Path | None:
        return self._opened.find_root(self.location.path, self.loaded.origins)


class _Thread(threading.local):
    setups: dict[OpenedMemory, _Setup] | None = None


_THREAD = _Thread()


@contextmanager
def one_setup() -> Iterator[None]:
    """Inside, this thread reads the settings and resolves the folders of each memory only once."""
    before, _THREAD.setups = _THREAD.setups, _THREAD.setups or {}
    try:
        yield
    finally:
        _THREAD.setups = before


class OpenedMemory:
    """What `Memory` and `MemoryAdmin` share."""

    def __init__(
        self,
        places: Places,
        files: SettingsFiles,
        *,
        folder: Path | None = None,
        listen: Listener,
        now: Callable[[], datetime],
        embedder: EmbeddingProvider | None = None,
        is_personal: bool = False,
        read_only: bool = False,
    ) -> None:
        """`is_personal`: the memory is a file on this machine, whatever the settings say."""
        self.read_only = read_only
        self.places, self.files, self._is_personal = places, files, is_personal
        self.listen, self.now = listen, now
        self.folder = folder  # of `Memory.open`
        self._store: Store | None = None
        self._stamp: object = None  # which database the store has open
        self._project_store: SQLiteStore | None = None  # the store, if it is the project's file
        self._trust: KnownMemory | None = None
        self._is_noted = False  # in the user's list of known memories
        self._warned_of: set[str] = set()
        self._retrievers: RetrieverCache | None = None
        # One for all threads, until the settings change.
        self._embedders = lru_cache(maxsize=1)(
            partial(Embedders, models=places.home / "models", environ=files.environ, given=embedder)
        )
        self._llm = lru_cache(maxsize=1)(self._make_llm)
        self._lock = threading.RLock()

    @property
    def _setup(self) -> _Setup:
        if (setups := _THREAD.setups) is None:
            return _Setup(self)
        if self not in setups:
            setups[self] = _Setup(self)
        return setups[self]

    @property
    def loaded(self) -> LoadedSettings:
        """The settings as the files say now: a change takes effect with the next call."""
        return self._setup.loaded

    @property
    def settings(self) -> Settings:
        return self._setup.loaded.settings

    @property
    def location(self) -> StoreLocation:
        return self._setup.location

    def locate(self, store: StoreSettings) -> StoreLocation:
        """Where these settings say that the memory is."""
        if store.url and not self._is_personal:
            return PostgresLocation(store.url, store.schema, read_only=self.read_only)
        return SqliteLocation(self._file_of(store), read_only=self.read_only)

    @property
    def path(self) -> Path:
        """The file that holds the memory, unless a server does."""
        return self._file_of(self.settings.store)

    def _file_of(self, store: StoreSettings) -> Path:
        path = self.places.memory_folder / Path(store.path).expanduser()
        return path if self._is_of_project(path) else path.resolve()

    @property
    def project_file(self) -> SqliteLocation | None:
        """The location, if it is a file that may have come with a clone of the project."""
        is_of_project = not self.settings.store.url and self._is_of_project(self.path)
        file = SqliteLocation(self.path, read_only=self.read_only)
        return file if is_of_project else None

    def _is_of_project(self, path: Path) -> bool:
        """True for a file below the project's folder. The user chooses all others."""
        is_below = path.parent.is_relative_to(self.places.memory_folder)
        return self.places.project is not None and is_below and ".." not in path.parts

    @property
    def index_folder(self) -> Path:
        """The folder of derived indexes: beside the file; for a server, at home."""
        path = self.location.path
        return (path.parent if path else self.places.memory_folder) / INDEXES

    @property
    def history_folder(self) -> Path:
        """The folder of git's answers, by commit: all repositories of the user share it."""
        return self.places.home / CACHE / "history"

    @property
    def vector_folder(self) -> Path:
        """The folder of vectors, by content: all memories of the user share them."""
        return self.places.home / CACHE / "vectors"

    @property
    def index_path(self) -> Path | None:
        """The file of the keyword index; None where the database ranks by itself."""
        return self.index_folder / "bm25.idx" if self.location.path else None

    @property
    def may_refresh(self) -> bool:
        """Whether a search may write to this memory: not to one that came with a clone."""
        _ = self.store
        return not self.read_only and (self._project_store is None or self._is_noted)

    @property
    def root(self) -> Path | None:
        """The folder that stored paths are relative to; None where several projects may share a
        memory. A server belongs to the project whose own settings name it."""
        return self._setup.root

    def find_root(self, path: Path | None, origins: Mapping[str, str]) -> Path | None:
        """The same of a memory in this file, or on a server that these settings name."""
        project = self.places.project
        if project is None:
            return None
        if path is not None:
            is_below = path.resolve().is_relative_to(project.resolve())
            return self.places.root if is_below else None
        config = self.places.project_config
        is_chosen = config and origins.get("store.url") == shown(config)
        return self.places.root if is_chosen else None

    @property
    def checkout(self) -> Checkout | None:
        """Whose files a shared memory reads and writes: on a server each person's, in each folder;
        in a file those of a linked worktree. None: the memory has one checkout, or this is the
        first."""
        if self.location.path is None:
            return server_checkout(self.places.home, self.root)
        worktree = self.places.worktree
        return worktree_checkout(worktree) if worktree and self.root == worktree else None

    @property
    def logs(self) -> Path:
        """The folder of conversation logs."""
        return self.places.home / "logs" / "conversations"

    @property
    def log_file(self) -> Path:
        return self.places.home / "logs" / "aurora.log"

    @property
    def store(self) -> Store:
        """The store, opened again if its file was replaced or its hidden rows were adopted."""
        with self._lock:
            location = self.location
            stamp = location.stamp()
            if stamp is None:
                raise NoMemoryError(
                    f"There is no memory yet at {location.name}",
                    hint="make one with `aur mem index .`",
                )
            if self._store is None or self._stamp != stamp or self._trust != self._read_trust():
                # The old store stays open: another thread may still read from it.
                self._store, self._stamp = self._open(location), stamp
                self._store.checkouts.use(self.checkout)
                self._trust = self._read_trust()
                self._retrievers = None
            return self._store

    def _read_trust(self) -> KnownMemory | None:
        """What the user's list says of a store that hides rows: they may have been adopted."""
        store = self._project_store
        return known_memory(self.places.home, store.path) if store and store.waiting else None

    def _open(self, location: StoreLocation) -> Store:
        if self.places.project is not None:
            require_own(self.places.memory_folder)
        self._project_store = None
        file = self.project_file
        if file is None:
            return location.open(self.listen)
        trust = judge(self.places.home, file.path, read_only=self.read_only)
        store = replace(file, waiting=trust.waiting).open(self.listen)
        self._project_store, self._is_noted = store, trust.is_known
        count = store.count_waiting() if trust.waiting else 0
        if not count:
            store.waiting = 0  # nothing is hidden, and its indexes hold all rows
        else:
            self.warn(
                f"{shown(file.path)} was not made by you: {count:,} of its rows (lessons, "
                "documents, logs) are hidden until you run `aur adopt`"
            )
        return store

    @property
    def project_store(self) -> SQLiteStore | None:
        """The open store, if it is the project's own file."""
        return self._project_store if self._project_store is self.store else None

    def create(self) -> None:
        """Create the folder and the database, if they are missing, and note them as the user's."""
        if self.places.project is not None:
            make_project(self.places.project)
        location, file = self.location, self.project_file
        is_open = self._store is not None and self._stamp == location.stamp()
        if file is not None:
            if not (is_open and self._is_noted) and make_own(self.places.home, file):
                self.reopen()
            _ = self.store
            self._is_noted = True
        elif not is_open:
            location.make()

    def read(self, read: Callable[[], T]) -> tuple[T, tuple[Note, ...]]:
        """The result, and notes on damage: a damaged memory answers with what can be read."""
        try:
            with self.store.reading():
                return self.read_again(read), self.tell_damage()
        except ChunkNotFoundError:
            self.tell_damage()
            raise

    def read_again(self, read: Callable[[], T]) -> T:
        """The result. A read that fails is repeated after a check of the whole store."""
        try:
            return read()
        except StoreFormatError:
            if not self.store.maintenance.damage(look=True):
                raise
            return read()

    def tell_damage(self, *, look: bool = False) -> tuple[Note, ...]:
        damage = self.store.maintenance.damage(look=look)
        if not damage:
            return ()
        note = Note(damage, warning=True)
        self.listen(note)
        return (note,)

    def warn_of_weights(self, fusion: str | None) -> tuple[Note, ...]:
        """A note on weights that the fusion of a search does not use, once."""
        loaded = self.loaded
        text = loaded.unused_weights(fusion or loaded.fusion)
        if not text or text in self._warned_of:
            return ()
        self._warned_of.add(text)
        self.warn(text)
        return (Note(text, warning=True),)

    def warn(self, warning: str | AuroraError) -> None:
        text = warning.in_one_line if isinstance(warning, AuroraError) else warning
        self.listen(Note(text, warning=True))

    @property
    def retriever(self) -> HybridRetriever:
        """The retriever for the current settings. Creating one opens nothing."""
        return self.retriever_over()

    def retriever_over(
        self, *others: tuple[OpenedMemory, str, str], name: str = "", prefix: str = ""
    ) -> HybridRetriever:
        """A retriever over this memory and others, each with its name and the prefix of its paths.

        The settings and the models are those of this memory.
        """
        # `stats` and `get` need no signals and no fusions.
        from aurora.retrieval.retriever import (  # noqa: PLC0415
            HybridRetriever,
            Layer,
            RetrieverCache,
        )

        embedders = self.embedders
        of = None if embedders.are_off else embedders.of
        # Before the lock: two memories may search each other at once.
        layers = tuple(Layer(other.store, other.index_folder, of, n, p) for other, n, p in others)
        projects = names_of_checkouts(self.root) if self.root else frozenset[str]()
        with self._lock:
            loaded, store = self.loaded, self.store
            owner = store.vectors.embedder()
            config = make_config(loaded, embedder=owner.name if owner else "")
            if self._retrievers is None:
                self._retrievers = RetrieverCache(clock=time.monotonic)
            key = tuple((id(layer.store), layer.name, layer.prefix) for layer in layers)
            return self._retrievers.get(
                (store.identity, config, loaded.settings.embedding, name, prefix, key, projects),
                lambda: HybridRetriever(
                    store,
                    config,
                    index_folder=self.index_folder,
                    now=self.now,
                    embedders=of,
                    name=name,
                    prefix=prefix,
                    others=layers,
                    projects=projects,
                    rerankers=self._reranker,
                    expand=self._expand,
                    listen=self.listen,
                ),
            )

    def _expand(self, words: str) -> Sequence[str]:
        return self.llm.expander.expand(words)

    def _reranker(self, wanted: Rerank) -> Reranker:
        from aurora.retrieval.rerank import LateInteraction, Listwise  # noqa: PLC0415

        if wanted is Rerank.LLM:
            return Listwise(self.llm.reranker.rank)
        tokens = self.embedders.of_tokens(self.store.vectors.embedder())
        return LateInteraction(tokens, seconds=self.settings.search.rerank.seconds)

    @property
    def llm(self) -> LlmHelp:
        """The language model of the current settings."""
        with self._lock:
            return self._llm(self.settings.llm, self.index_folder / "llm")

    def _make_llm(self, settings: LlmSettings, folder: Path) -> LlmHelp:
        from aurora.engine.language_model import LlmHelp  # noqa: PLC0415 - few searches use one

        environ = self.files.environ
        return LlmHelp(settings, folder=folder, environ=environ, keeps=not self.read_only)

    @property
    def embedders(self) -> Embedders:
        """The embedders of the current settings, with the models that they loaded."""
        with self._lock:
            return self._embedders(self.settings.embedding)

    @property
    def is_improvable(self) -> bool:
        """Whether the vectors are quick ones, or of an earlier version of Aurora's own model."""
        embedders, owner = self.embedders, self.store.vectors.embedder()
        return embedders.is_quick(owner) or embedders.is_earlier(owner)

    def run_progress(self, work: Work = Work.INDEX) -> Progress | None:
        """The progress of the run that is at work, in any process; None without one."""
        try:
            return self.store.run_progress(work)
        except NoMemoryError:
            return None

    def reopen(self) -> None:
        """Have the next call open the store again. Other threads may still read from the old one,
        which closes when the last of them is done."""
        (_THREAD.setups or {}).pop(self, None)  # the folders may be others, too
        with self._lock:
            self._store = self._retrievers = None

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None
            self._retrievers = None


def make_config(loaded: LoadedSettings, *, embedder: str) -> HybridConfig:
    """The search settings. `embedder` is the PROVIDER/MODEL of the memory's vectors: its own
    weights apply where the settings set none."""
    from aurora.retrieval.config import HybridConfig, Trust  # noqa: PLC0415 - as above

    search = loaded.settings.search
    weights, stage2 = search.hybrid.weights, search.hybrid.stage2_weights
    bm25, semantic, activation = weights.bm25, weights.semantic, weights.activation
    if any(origin.startswith(_STAGE2) for origin in loaded.origins):  # the two-stage formula
        bm25, semantic, activation = 0.0, stage2.semantic, stage2.activation
    is_set = loaded.origins.keys().__contains__
    has_alpha = is_set("search.weighted.semantic")
    own, auto = trust_of(embedder), search.auto
    return HybridConfig(
        k1=search.bm25.k1,
        b=search.bm25.b,
        idf=search.bm25.idf,
        keyword=search.keyword,
        mode=Mode(search.mode),
        fusion=loaded.fusion,
        stage1_top_k=search.hybrid.stage1_top_k,
        bm25_weight=bm25,
        semantic_weight=semantic,
        activation_weight=activation,
        hybrid_search_alpha=search.weighted.semantic if has_alpha else share_of(embedder),
        nudge=search.weighted.activation,
        trust=Trust(
            auto.prose if is_set("search.auto.prose") else own.prose,
            auto.code if is_set("search.auto.code") else own.code,
        ),
        use=auto.activation,
        min_score=search.min_score,
        half_life=search.recency.half_life,
        rrf_k=search.rrf.k,
        rerank=Rerank(search.rerank.by),
        rerank_if_unsure=search.rerank.when == "unsure",
        expand=search.expand,
    )
