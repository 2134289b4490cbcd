"""What only the command line and the servers need of a memory: `memory.admin`.

Inspection, checks and repair, import and copies, models, and the adoption of a memory that came
from another user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from aurora import stores
from aurora.concurrency import CoalescedCall
from aurora.engine.adoption import Offer, note_identity, note_reclaimed, offer
from aurora.engine.agent_sessions import AgentSessions
from aurora.engine.language_model import check_llm
from aurora.engine.location import StoreLocation, require_driver, shown_name
from aurora.engine.opening import OpenedMemory
from aurora.engine.trail import Trail
from aurora.engine.writing import MemoryWriter, VectorUpdates
from aurora.errors import (
    AuroraError,
    EmbeddingError,
    IndexFileError,
    NoMemoryError,
    StoreBusyError,
    TransferError,
)
from aurora.files import require_own
from aurora.indexing.documents import find_to_forget
from aurora.indexing.embedding import Embedded, Reembedded, embedder_of
from aurora.indexing.foreign_documents import TakenIn, take_in
from aurora.indexing.import_export import Copied, Export, Imported, copy_memory, import_memory
from aurora.indexing.reader import Names, scan
from aurora.indexing.replacing import piece_ids
from aurora.indexing.turns import write_turn
from aurora.llm.cache import AnswerCache
from aurora.retrieval.retriever import HybridRetriever
from aurora.sources.reading import Skipped
from aurora.stores.base import Checkout, Embedder, Reclaimed, Store, Work
from aurora.types import Chunk, Listener, Note, Progress, ignore_events

if TYPE_CHECKING:
    from aurora.engine.memory import Memory


class MemoryAdmin:
    """The rarely used methods of one memory."""

    def __init__(self, opened: OpenedMemory, writer: MemoryWriter) -> None:
        self._opened, self._writer = opened, writer
        self._scrubbing = CoalescedCall()
        self.sessions = AgentSessions(opened, writer, self.scrub)

    def trail(self, memory: Memory) -> Trail:
        """What commits and sessions tell about this memory and the person's."""
        return Trail(memory)

    # Location and parts

    @property
    def location(self) -> StoreLocation:
        return self._opened.location

    @property
    def path(self) -> Path:
        """The file that holds the memory, unless a server does."""
        return self._opened.path

    @property
    def index_path(self) -> Path | None:
        """The file of the keyword index; None where the database ranks by itself."""
        return self._opened.index_path

    @property
    def store(self) -> Store:
        return self._opened.store

    @property
    def checkout(self) -> Checkout | None:
        """Whose files these are, where a memory is shared; None for the first of a file."""
        return self._opened.checkout

    @property
    def retriever(self) -> HybridRetriever:
        return self._opened.retriever

    def create(self) -> None:
        """Create the memory, if it does not exist."""
        self._opened.create()

    def find_root(self) -> Path | None:
        """The project's root; where none was started, that of the repository around the folder."""
        return self._opened.places.root or self._writer.find_project()

    def start_project(self) -> None:
        """Create the memory; inside a git repository, that of the project."""
        self._writer.start_project()
        self._opened.create()

    # Contents

    def chunks(self) -> Iterator[Chunk]:
        """All chunks that can be found. Reading them here is not an access."""
        self._opened.tell_damage(look=True)
        return self.store.chunks.iter_chunks()

    def pieces(self, chunk: Chunk) -> list[Chunk]:
        """The chunk; for the first chunk of a document, all chunks of the document."""
        return self.store.chunks.get_chunks(piece_ids([chunk])) or [chunk]

    def left_out(self) -> dict[str, str]:
        """Files that an index run leaves out, and why, sorted by path.

        The last run left out those that it had to read. Those left out by name or size are found
        by a new walk of the project, or of the folders that hold the memory's files.
        """
        opened = self._opened
        states = opened.store.chunks.file_states()
        reasons = {path: state.left_out for path, state in states.items() if state.left_out}
        folders = [opened.root] if opened.root else _outermost_folders(states, opened.logs)
        if folders:
            names = Names(opened.root)
            skipped = (file for file in scan(*folders).files.values() if isinstance(file, Skipped))
            reasons |= {names.of(file.path): file.reason for file in skipped}
        return dict(sorted(reasons.items()))

    def find_to_forget(self, word: str) -> list[str]:
        """Chunk ids that a word stands for: an id, a file or folder, or `namespace:NAME`."""
        return find_to_forget(self.store, Names(self._opened.root), word)

    def is_found(self, chunk_id: str) -> bool:
        """False for what another entry replaced: searches do not return it."""
        return not any(chunk.is_replaced for chunk in self.store.chunks.get_chunks([chunk_id]))

    @property
    def generation(self) -> int:
        """A number that grows with every change of what can be found."""
        return self._opened.read_again(self.store.generation)

    @property
    def run_progress(self) -> Progress | None:
        """The progress of the index run that is at work, in any process; None without one."""
        return self._opened.run_progress()

    @property
    def improving(self) -> Progress | None:
        """The progress of the process that replaces the vectors by better ones."""
        return self._opened.run_progress(Work.VECTORS)

    @property
    def is_improvable(self) -> bool:
        """Whether better vectors are still to be made."""
        return self._opened.is_improvable

    def improve(self, *, waits: bool = True) -> Embedded:
        """Make the better vectors that a quick run left to later.

        Searches and index runs go on meanwhile. Another process that makes them is waited for, or
        without `waits` raises `StoreBusyError`.
        """
        return self._writer.vectors.improve(waits=waits)

    # Checks and repair

    def check(self) -> list[str]:
        """The problems found in the database and its text indexes."""
        return self.store.maintenance.check()

    def reclaim(self) -> Reclaimed | None:
        """Rebuild a file that cannot be opened, from all that can be read; None if it opens."""
        places, file = self._opened.places, self._opened.project_file
        if places.project is not None:
            require_own(places.memory_folder)
        reclaimed = self.location.reclaim()
        if reclaimed and file:
            note_reclaimed(places.home, file.path)
        return reclaimed

    def repair(self) -> list[str]:
        """Remove damaged chunks and rebuild all indexes; the ids of the removed chunks.

        `index` reads their files again. Removed documents and lessons are lost.
        """
        # Not read again after the repair: its new identity would look like another user's file.
        store, project_store = self.store, self._opened.project_store
        removed = store.maintenance.repair()
        if project_store:
            note_identity(self._opened.places.home, project_store)
        self.rebuild_bm25()
        return removed

    def rebuild_bm25(self) -> int:
        """Rebuild and save the keyword index; the number of chunks that it holds."""
        if ranking := self.store.ranking:
            return ranking.rebuild_words()
        built = len(self.retriever.bm25.rebuild())
        if not self.index_saved:
            raise IndexFileError(
                f"The BM25 index could not be saved to {self.index_path}",
                hint="check who owns the folder and whether the disk is full",
            )
        stored = sum(self.store.chunks.count_chunks().values())
        if built != stored:
            raise IndexFileError(
                f"The BM25 index holds {built} chunks, the memory {stored}",
                hint="another process is writing; the next search brings the index up to date",
            )
        return built

    @property
    def index_saved(self) -> bool:
        """False if the keyword index is only in memory, because its file cannot be written."""
        return self.store.ranking is not None or self.retriever.bm25.saved

    def scrub(self) -> None:
        """Overwrite removed data in every file. Concurrent calls share one run."""
        self._scrubbing.do(self._scrub)

    def _scrub(self) -> None:
        self._scrub_derived()
        try:
            self.store.maintenance.scrub()
        except StoreBusyError as exc:
            self._opened.warn(exc)

    def scrub_all(self) -> None:
        """As `scrub`, however long it takes; raises if something prevents it."""
        self._scrub_derived()
        self.location.scrub()

    def _scrub_derived(self) -> None:
        self.vectors.make_searchable(scrub=True)
        AnswerCache(self._opened.index_folder / "llm").clear()

    @contextmanager
    def adoption(self) -> Iterator[Offer | None]:
        """What the memory holds that is not the user's; None if all of it is."""
        file = self._opened.project_file
        if file is None or file.stamp() is None:
            yield None
            return
        require_own(self._opened.places.memory_folder)
        with offer(self._opened.places.home, file) as offered:
            yield offered

    # Models

    @property
    def vectors(self) -> VectorUpdates:
        """Makes the vectors of this memory."""
        return self._writer.vectors

    def reembed(self) -> Reembedded:
        """Replace the vectors by those of the provider that the settings choose."""
        return self.vectors.reembed()

    def vectors_of(self) -> Embedder | None:
        """The embedder that made the vectors."""
        return self.store.vectors.embedder()

    def chosen_embedder(self) -> str:
        """The name of the provider that the settings choose; empty if there is none."""
        try:
            return self._opened.embedders.chosen().name
        except AuroraError:
            return ""

    def try_embedder(self) -> Embedder:
        """The provider that the settings choose, after it embedded a text.

        A remote one is not called: its dimension is 0. Raises `EmbeddingError` if it fails.
        """
        embedders = self._opened.embedders
        chosen = embedders.chosen()
        if embedders.is_remote:
            return Embedder(chosen.name, 0, "")
        try:
            chosen.embed_query("aurora")
            return embedder_of(chosen)
        except AuroraError:
            raise
        except Exception as exc:  # a provider may fail in any way
            raise EmbeddingError(f"{chosen.name} failed: {exc!r}") from exc

    @property
    def has_llm(self) -> bool:
        """True if the settings name a language model. Without one, only the user may start a call
        that sends text to the default endpoint."""
        return any(key.startswith("llm.") for key in self._opened.files.current().origins)

    @property
    def environ(self) -> Mapping[str, str]:
        return self._opened.files.environ

    def check_llm(self) -> str:
        """The model and its address. No request is sent; raises `LlmError` if a part is missing."""
        return check_llm(self._opened.settings.llm, self.environ)

    # Import

    def import_(self, stream: BinaryIO, *, vectors: bool = True) -> Imported:
        """Import all of an export, or nothing; the memory is created if it does not exist.

        A chunk with a known id is replaced, and nothing is removed. Vectors of another embedder
        than the memory's are refused, unless `vectors` is false.
        """
        opened = self._opened
        export = Export(stream)  # an invalid file creates no memory
        opened.create()
        with self._writer.redacting() as redactor:
            return import_memory(
                opened.store, export, redactor=redactor, vectors=vectors, listen=opened.listen
            )

    def import_aurorakb(self, url: str, *, table: str, prefix: str = "") -> TakenIn:
        """Import the documents of an AuroraKB database, which stays unchanged.

        Documents imported before are compared and written only if they differ.
        """
        require_driver()
        opened = self._opened
        with stores.postgres.aurorakb.open_aurorakb(url, table) as source:
            total = source.count()
            opened.create()
            with (
                write_turn(opened.store, listen=opened.listen),
                self._writer.redacting() as redactor,
            ):
                taken = take_in(
                    opened.store,
                    source.pages(),
                    redactor=redactor,
                    total=total,
                    key_space=source.key_space,
                    prefix=prefix,
                    now=opened.now(),
                    listen=opened.listen,
                )
                if source.vector_type:
                    opened.listen(
                        Note(
                            f"Its vectors ({source.vector_type}) are not imported: their model is "
                            "unknown, and long documents are cut into pieces here. New vectors "
                            "are made"
                        )
                    )
                self.vectors.embed_missing()
        if missed := total - taken.documents - taken.left_out:
            opened.warn(f"{missed} rows without an id, or with a duplicate one, were left out")
        return taken


def copy_between(
    source: StoreLocation,
    target: StoreLocation,
    *,
    vectors: bool = True,
    listen: Listener = ignore_events,
) -> Copied:
    """Copy a memory from one location to another; the target is created if it does not exist."""
    stamp = source.stamp()
    if source == target or (stamp is not None and stamp == target.stamp()):
        raise _same_memory(source)
    if stamp is None:
        raise NoMemoryError(
            f"There is no memory at {shown_name(source.name)}",
            hint="name the database file, such as .aurora/memory.db",
        )
    with ExitStack() as opened:
        source_store = opened.enter_context(closing(source.open(listen)))
        if damage := source_store.maintenance.damage(look=True):
            listen(Note(damage, warning=True))
        target.make()
        target_store = opened.enter_context(closing(target.open()))
        # Two addresses may lead to one server. A copied file keeps its identity.
        if source.server and source_store.identity == target_store.identity:
            raise _same_memory(source)
        copied = copy_memory(source_store, target_store, vectors=vectors, listen=listen)
        ranking = target_store.ranking
        if ranking is not None and (warning := ranking.prepare_search()):
            listen(Note(warning, warning=True))
    return copied


def _same_memory(location: StoreLocation) -> TransferError:
    return TransferError(
        f"Both places are the same memory: {shown_name(location.name)}",
        hint="name another one by --from or --to: a file, or postgresql://…#SCHEMA",
    )


def _outermost_folders(paths: Iterable[str], logs: Path) -> list[Path]:
    """The folders of these files that are below no other one of them, without those of logs."""
    outermost: list[Path] = []
    for folder in sorted({Path(path).parent for path in paths}):
        is_inside = bool(outermost) and folder.is_relative_to(outermost[-1])
        if not is_inside and not folder.is_relative_to(logs) and folder.is_dir():
            outermost.append(folder)
    return outermost
