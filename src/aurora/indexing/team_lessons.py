"""Lessons of a team: Markdown files that git tracks, which every index run reads back.

The callers remove secrets. `parsers.lessons` reads the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from aurora.errors import LabelError, SourceError
from aurora.files import open_no_follow, replacing
from aurora.parsers.lessons import (
    LESSONS,
    LONGEST_CONTEXT,
    LONGEST_LESSON,
    LONGEST_TYPE,
    WRITTEN,
    TeamLesson,
    is_lesson_path,
    read_lesson,
)
from aurora.stores.base import FileState, Reasoning, Store
from aurora.text import make_slug, printable
from aurora.types import LEAST_SUCCESS, Chunk, Kind

_LARGEST = 1 << 18  # bytes of a file that may hold a lesson
_RULE = re.compile(r"(?m)^(---|\.\.\.)[ \t\r]*$")


def replace_files(store: Store, files: Iterable[tuple[FileState, Sequence[Chunk]]]) -> None:
    """As `Chunks.replace_files`, with the records of lessons. Call it inside a transaction."""
    others = []
    for state, chunks in files:
        if is_lesson_path(state.path):
            _replace_lesson(store, state, chunks)
        else:
            others.append((state, chunks))
    store.chunks.replace_files(others)


def _replace_lesson(store: Store, state: FileState, chunks: Sequence[Chunk]) -> None:
    kinds = {chunk.id: chunk.kind for chunk in chunks}
    stored = store.chunks.get_chunks(list(kinds))
    # A note with the id of an earlier lesson must not inherit its record.
    store.chunks.delete_chunks([chunk.id for chunk in stored if chunk.kind != kinds[chunk.id]])
    store.chunks.replace_file(state, chunks)
    for chunk in store.chunks.get_chunks(store.chunks.find_below(state.path)):
        if chunk.kind is Kind.REASONING and chunk.path == state.path:
            store.chunks.put_reasoning(chunk.id, _reasoning_of(chunk, state))


def _reasoning_of(chunk: Chunk, state: FileState) -> Reasoning:
    score, tries = float(str(chunk.metadata["score"])), int(str(chunk.metadata["tries"]))
    uses = tries if score >= LEAST_SUCCESS else 0
    at = chunk.created_at or datetime.fromtimestamp(state.modified_ns // 10**9, UTC)
    return Reasoning(str(chunk.metadata["pattern_type"]), score, uses, at)


def write_team_lesson(
    root: Path, lesson: TeamLesson, *, replaces: Path | None = None, now: datetime
) -> Path:
    """Write one try of a lesson below the root of a repository; its file.

    The file that has the same text and type is updated: its score becomes the mean of all tries.
    No other file is changed, but the one that it replaces: that names its successor.
    """
    _require_valid(lesson)
    folder = root / LESSONS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if replaces is not None:
            lesson = lesson._replace(replaces=replaces.relative_to(root).as_posix())
        path = next(_find_same(folder, lesson), None)
        if path is None:
            path = _create(folder, lesson, now)
        else:
            _add_try(path, lesson)
        if replaces is not None and path != replaces:
            name = path.relative_to(root).as_posix()
            _set_values(replaces, {"replaced_by": _quoted(name)})
    except OSError as exc:
        raise SourceError(
            f"The lesson cannot be written to {folder}: {exc.strerror}",
            hint="check who owns the folder and whether the disk is full",
        ) from exc
    return path


def _require_valid(lesson: TeamLesson) -> None:
    if not 0.0 <= lesson.score <= 1.0:
        raise ValueError(f"a success score lies in [0, 1], not {lesson.score}")
    kind = lesson.pattern_type
    if printable(kind) != kind or not kind.strip() or len(kind) > LONGEST_TYPE:
        raise LabelError(
            f"{kind[:LONGEST_TYPE]!r} cannot be the type of a lesson",
            hint=f"write one line of at most {LONGEST_TYPE} characters, such as recovery",
        )
    limits = (("lesson", lesson.text, LONGEST_LESSON), ("context", lesson.context, LONGEST_CONTEXT))
    for what, text, most in limits:
        if len(text) > most:
            raise SourceError(
                f"The {what} has {len(text):,} characters, in a file of the team at most {most:,}",
                hint="write a document in the repository, which `aur index` reads",
            )
    try:
        unwritable = "\0" in lesson.text or not (lesson.text + lesson.context).encode()
    except UnicodeEncodeError:
        unwritable = True
    if unwritable:
        raise SourceError("The lesson is not UTF-8 text", hint="only text can be kept")


def _find_same(folder: Path, lesson: TeamLesson) -> Iterator[Path]:
    """The files with the text and the type of a lesson."""
    for path in sorted(folder.rglob("*.md")):
        try:
            with open_no_follow(path) as file:
                written = file.read(_LARGEST).decode()
            kept = read_lesson(written)
        except (OSError, ValueError):  # a link, another encoding, or a bad value
            continue
        if kept and (kept.text, kept.pattern_type) == (lesson.text, lesson.pattern_type):
            yield path


def _create(folder: Path, lesson: TeamLesson, now: datetime) -> Path:
    stem = f"{now.date()}-{make_slug(lesson.name).rstrip('-') or 'lesson'}"
    content = render_lesson(lesson, now)
    for number in count(1):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:  # readable as by git
                file.write(content)
        except FileExistsError:
            continue
        break
    return path


def render_lesson(lesson: TeamLesson, now: datetime) -> str:
    """The file of a new lesson."""
    lines = ["---", f"type: {_quoted(lesson.pattern_type)}"]
    values = _scores(lesson.score, lesson.tries)
    if lesson.context:
        values["context"] = _quoted(lesson.context)
    values |= {
        key: _quoted(str(lesson.provenance[key])) for key in WRITTEN if key in lesson.provenance
    }
    if "commit" in values:  # YAML may read its digits as a number
        values["commit"] = json.dumps(lesson.provenance["commit"])
    if files := lesson.provenance.get("files"):
        values["about"] = json.dumps(files, ensure_ascii=False)
    if lesson.replaces:
        values["replaces"] = _quoted(lesson.replaces)
    lines += [f"{key}: {value}" for key, value in values.items()]
    return "\n".join([*lines, f"date: {now.date()}", "---", "", lesson.text, ""])


def _scores(score: float, tries: int) -> dict[str, str]:
    return {"score": f"{round(score, 4):g}", "tries": str(tries)}


def _quoted(text: str) -> str:
    """A text as YAML reads it: plain words as they are, anything else in quotes."""
    is_plain = re.fullmatch(r"[^\W\d][\w-]*( [\w-]+)*", text) and text.lower() not in _YAML_WORDS
    return text if is_plain else json.dumps(text, ensure_ascii=False)


_YAML_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")


def _add_try(path: Path, lesson: TeamLesson) -> None:
    """Replace score, tries and a new context in the front matter; all other lines stay.

    A lesson that was replaced is current again after a success.
    """
    with open_no_follow(path) as file:
        kept = read_lesson(file.read().decode())
    if kept is None:
        return
    new = _scores((kept.score * kept.tries + lesson.score) / (kept.tries + 1), kept.tries + 1)
    if lesson.context and lesson.context != kept.context:
        new["context"] = _quoted(lesson.context)
    if lesson.replaces:
        new["replaces"] = _quoted(lesson.replaces)
    is_back = bool(kept.replaced_by) and lesson.score >= LEAST_SUCCESS
    _set_values(path, new, without=("replaced_by",) if is_back else ())


def _set_values(path: Path, new: Mapping[str, str], *, without: Sequence[str] = ()) -> None:
    """Set values in the front matter of a file; all other lines stay."""
    with open_no_follow(path) as file:
        written = file.read().decode()
    first, rest = written.split("\n", 1)
    end = _RULE.search(rest)
    matter = rest[: end.start()] if end else ""
    changed = {*new, *without}
    lines = [
        line
        for line in matter.splitlines()
        if line.partition(":")[0].strip().lower() not in changed
    ]
    lines += [f"{key}: {value}" for key, value in new.items()]
    with replacing(path, keep_mode=True) as out:
        out.write("\n".join([first, *lines, rest[len(matter) :]]).encode())
