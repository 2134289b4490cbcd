"""What a memory stands on: its settings, its database and its retriever, opened when needed.

Here, and in `ranking`, settings become objects. Nothing is open before the first call that needs
it: neither the database nor the index nor numpy.

What the settings say of a ranking, as the retriever takes it.

Who helps with large work: what the settings say, as an object.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from aurora.concurrency import CoalescedCall
from aurora.config import Places, SettingsFiles
from aurora.config.load import LoadedSettings
from aurora.config.places import make_project, shown
from aurora.config.schema import EmbeddingSettings, IndexingSettings, LlmSettings, Settings
from aurora.config.trust import KnownMemory, known_memory
from aurora.embeddings.base import EmbeddingProvider
from aurora.embeddings.registry import share_of, trust_of
from aurora.engine.adoption import Offer, judge, make_own, offer
from aurora.engine.embedders import Embedders
from aurora.engine.location import INDEXES, PostgresLocation, SqliteLocation, StoreLocation
from aurora.errors import ChunkNotFoundError, NoMemoryError, StoreFormatError
from aurora.files import require_own
from aurora.fusion.auto import Trust
from aurora.indexing.embedding import RemoteEmbedder
from aurora.retrieval.config import SearchConfig
from aurora.retrieval.retriever import RetrieverCache
from aurora.stores.base import Store
from aurora.types import Listener, Mode, Note, Rerank, ignore_events

if TYPE_CHECKING:
    from aurora.embeddings.base import EmbeddingProvider
    from aurora.engine.language_model import LlmHelp
    from aurora.retrieval.rerank import Reranker
    from aurora.retrieval.retriever import Retriever


T = TypeVar("T")


def utc_now() -> datetime:
    return datetime.now(UTC)


class OpenedMemory:
    """Opened by the first who asks, one for all threads; anew when a file or setting is another."""

    def __init__(
        self,
        places: Places,
        settings: SettingsFiles | None = None,
        *,
        listen: Listener = ignore_events,
        now: Callable[[], datetime] = utc_now,
        embedder: EmbeddingProvider | None = None,
    ) -> None:
        self.places = places
        self._given = embedder
        self._files = settings or SettingsFiles(places)
        self._listen, self._now = listen, now
        self._opened: Store | None = None
        self._stamp: object = None  # which database that is, whatever its name
        self._trust: KnownMemory | None = None
        self._is_noted = False  # as the user's
        self._retrievers = RetrieverCache(clock=time.monotonic)
        self._known_embedders: tuple[EmbeddingSettings, Embedders] | None = None
        self._known_llm: tuple[tuple[LlmSettings, Path], LlmHelp] | None = None
        self._lock, self._scrubbing = threading.RLock(), CoalescedCall()

    @property
    def settings(self) -> Settings:
        """As the files say now: a change takes effect with the next call."""
        return self._files.current().settings

    @property
    def whereabouts(self) -> StoreLocation:
        _, url, schema = self.settings.store
        return PostgresLocation(url, schema) if url else SqliteLocation(self.path)

    @property
    def path(self) -> Path:
        """The file that a memory is kept in, unless that is a server."""
        path = self.places.memory_folder / Path(self.settings.store.path).expanduser()
        return path if self._is_of_project(path) else path.resolve()

    def _is_of_project(self, path: Path) -> bool:
        """Whether a file may have come with a clone. Others are of the user's choice, and may be
        links."""
        is_below = path.parent.is_relative_to(self.places.memory_folder)
        return self.places.project is not None and is_below and ".." not in path.parts

    @property
    def name(self) -> Path | str:
        """What the memory is called: its file, or its server's address without the password."""
        return self.whereabouts.name

    @property
    def exists(self) -> bool:
        """Whether there is a database. Of a server nobody knows before it is asked."""
        return self.whereabouts.stamp() is not None

    @property
    def index_folder(self) -> Path:
        """What is derived, and what git told, lies beside the file; for a server, at home."""
        at = self.whereabouts
        beside = at.path.parent if isinstance(at, SqliteLocation) else self.places.memory_folder
        return beside / INDEXES

    @property
    def _store(self) -> Store:
        """Opened by the first who asks, one for all threads; anew when the file is another."""
        with self._lock:
            at = self.whereabouts
            stamp = at.stamp()
            if stamp is None:
                raise NoMemoryError(
                    f"There is no memory yet at {at.name}", hint="make one with `aur mem index .`"
                )
            if self._opened is None or self._stamp != stamp or self._trust != self._read_trust(at):
                # Not closed: another thread may still be reading the one that was.
                self._opened, self._stamp = self._open(at), stamp
                self._trust = self._read_trust(at)
                self._retrievers.clear()
            return self._opened

    def _read_trust(self, at: StoreLocation) -> KnownMemory | None:
        """What the user's list tells of a store that hides rows: they may be adopted meanwhile."""
        hides = getattr(self._opened, "waiting", 0) > 0
        return (
            known_memory(self.places.home, at.path)
            if hides and isinstance(at, SqliteLocation)
            else None
        )

    def _open(self, at: StoreLocation) -> Store:
        if self.places.project is not None:
            require_own(self.places.memory_folder)
        if not (isinstance(at, SqliteLocation) and self._is_of_project(at.path)):
            return at.open(self._listen)
        trust = judge(self.places.home, at.path)
        store = replace(at, waiting=trust.waiting).open(self._listen)
        self._is_noted = trust.is_known
        count = store.count_waiting() if trust.waiting else 0
        if not count:
            store.waiting = 0  # it hides nothing, and its indexes are those of all rows
        else:
            hidden = f"{count:,} of its rows (lessons, documents, logs) are hidden"
            text = f"{shown(at.path)} was not made by you: {hidden} until you run `aur adopt`"
            self._listen(Note(text, warning=True))
        return store

    def _read(self, read: Callable[[], T]) -> tuple[T, tuple[Note, ...]]:
        """An answer, and what must be said with it: a damaged memory answers with what is left."""
        try:
            return self._read_again(read), self._tell_damage()
        except ChunkNotFoundError:
            self._tell_damage()
            raise

    def _read_again(self, read: Callable[[], T]) -> T:
        """What fails in a memory that seemed whole is tried again after a look at all of it."""
        try:
            return read()
        except StoreFormatError:
            if not self._store.maintenance.damage(look=True):
                raise
            return read()

    def _tell_damage(self, *, look: bool = False) -> tuple[Note, ...]:
        damage = self._store.maintenance.damage(look=look)
        notes = (Note(damage, warning=True),) if damage else ()
        for note in notes:
            self._listen(note)
        return notes

    def _make(self) -> None:
        """Make the memory's folder and database, if they are not there, and note that they are the
        user's."""
        if self.places.project is not None:
            make_project(self.places.project)
        at = self.whereabouts
        is_open = self._opened is not None and self._stamp == at.stamp()
        if isinstance(at, SqliteLocation) and self._is_of_project(at.path):
            if not (is_open and self._is_noted) and make_own(self.places.home, at):
                self.close()
            _ = self._store
            self._is_noted = True
        elif not is_open:
            at.make()

    @contextmanager
    def adoption(self) -> Iterator[Offer | None]:
        """What the memory holds that is not the user's; None when all of it is theirs."""
        at = self.whereabouts
        if (
            not (isinstance(at, SqliteLocation) and self._is_of_project(at.path))
            or at.stamp() is None
        ):
            yield None
            return
        require_own(self.places.memory_folder)
        with offer(self.places.home, at) as found:
            yield found

    @property
    def retriever(self) -> Retriever:
        """Made again when a setting changed; it opens nothing by itself."""
        # Signals and fusions are half of what a search imports; `stats` and `get` need none.
        from aurora.retrieval.retriever import Retriever  # noqa: PLC0415

        with self._lock:
            loaded, store, embedders = self._files.current(), self._store, self._embedders
            owner = store.vectors.embedder()
            config = make_config(loaded, embedder=owner.name if owner else "")
            return self._retrievers.get(
                (store.identity, config, loaded.settings.embedding),
                lambda: Retriever(
                    store,
                    config,
                    index_folder=self.index_folder,
                    now=self._now,
                    embedders=None if embedders.are_off else embedders.of,
                    rerankers=self._reranker,
                    expand=self._expand,
                    listen=self._listen,
                ),
            )

    def _expand(self, words: str) -> Sequence[str]:
        return self._llm.expander.expand(words)

    def _reranker(self, wanted: Rerank) -> Reranker:
        from aurora.retrieval.rerank import LateInteraction, Listwise  # noqa: PLC0415

        if wanted is Rerank.LLM:
            return Listwise(self._llm.reranker.rank)
        tokens = self._embedders.of_tokens(self._store.vectors.embedder())
        return LateInteraction(tokens, seconds=self.settings.search.rerank.seconds)

    @property
    def _llm(self) -> LlmHelp:
        """Made again when a setting of it changed; one for all threads."""
        from aurora.engine.language_model import LlmHelp  # noqa: PLC0415 - few searches want one

        with self._lock:
            wanted = (self.settings.llm, self.index_folder / "llm")
            if self._known_llm is None or self._known_llm[0] != wanted:
                settings, folder = wanted
                made = LlmHelp(settings, folder=folder, environ=self._files.environ)
                self._known_llm = (wanted, made)
            return self._known_llm[1]

    @property
    def has_llm(self) -> bool:
        """Whether the settings name a language model. Without, nobody but the user may have one
        asked: text would go to whoever is the default."""
        return any(key.startswith("llm.") for key in self._files.current().origins)

    def check_llm(self) -> str:
        """Who would be asked for help. Raises `LlmError` where something is missing for that."""
        from aurora.engine.language_model import check_llm  # noqa: PLC0415 - as in `_llm`

        return check_llm(self.settings.llm, self._files.environ)

    @property
    def _embedders(self) -> Embedders:
        """Made again when a setting of theirs changed; the models they loaded go with them."""
        with self._lock:
            wanted = self.settings.embedding
            if self._known_embedders is None or self._known_embedders[0] != wanted:
                models, environ = self.places.home / "models", self._files.environ
                made = Embedders(wanted, models=models, environ=environ, given=self._given)
                self._known_embedders = (wanted, made)
            return self._known_embedders[1]

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._retrievers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


_STAGE2 = "search.hybrid.stage2_weights."


def make_config(loaded: LoadedSettings, *, embedder: str) -> SearchConfig:
    """Settings as the retriever takes them. Where they do not say what meaning's share is, it is
    that of vectors by PROVIDER/MODEL."""
    search = loaded.settings.search
    weights = search.hybrid.weights
    bm25, semantic, activation = weights.bm25, weights.semantic, weights.activation
    stage2 = search.hybrid.stage2_weights
    if any(origin.startswith(_STAGE2) for origin in loaded.origins):  # FR-9: then FR-2.1 holds
        bm25, semantic, activation = 0.0, stage2.semantic, stage2.activation
    is_set = loaded.origins.keys().__contains__
    own, wanted = trust_of(embedder), search.auto
    # Who sets the share of seeds 001 and 004 means the fusion that has it.
    by_alpha = is_set("search.weighted.semantic") and not is_set("search.fusion")
    return SearchConfig(
        k1=search.bm25.k1,
        b=search.bm25.b,
        idf=search.bm25.idf,
        keyword=search.keyword,
        mode=Mode(search.mode),
        fusion="weighted" if by_alpha else search.fusion,
        stage1_top_k=search.hybrid.stage1_top_k,
        bm25_weight=bm25,
        semantic_weight=semantic,
        activation_weight=activation,
        hybrid_search_alpha=search.weighted.semantic
        if is_set("search.weighted.semantic")
        else share_of(embedder),
        nudge=search.weighted.activation,
        trust=Trust(
            wanted.prose if is_set("search.auto.prose") else own.prose,
            wanted.code if is_set("search.auto.code") else own.code,
        ),
        use=search.auto.activation,
        min_score=search.min_score,
        half_life=search.recency.half_life,
        rrf_k=search.rrf.k,
        rerank=Rerank(search.rerank.by),
        rerank_if_unsure=search.rerank.when == "unsure",
        expand=search.expand,
    )


def find_elsewhere(
    settings: IndexingSettings, make: Callable[[], EmbeddingProvider]
) -> RemoteEmbedder | None:
    """The cluster, if one is named; else processes of this machine; None where one is enough.

    Nothing is started or asked before there is work.
    """
    if settings.ray:
        from aurora.indexing.ray import RayCluster  # noqa: PLC0415 - few have one

        return RemoteEmbedder(RayCluster(settings.ray), make)
    if settings.workers > 1:
        from aurora.indexing.ray import LocalProcesses  # noqa: PLC0415 - not for one

        return RemoteEmbedder(LocalProcesses(settings.workers), make)
    return None
