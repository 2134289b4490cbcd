"""What installing or uninstalling would change, and doing it.

A plan is made without writing: for each file the text before and after. A file that cannot be read,
parsed or written is a problem of its own, and the others still change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from aurora.config.places import shown
from aurora.errors import AuroraError, ConfigError
from aurora.files import is_foreign, remove_leftovers
from aurora.install import manifest as manifests
from aurora.install.additions import Addition, OwnFile, inherit
from aurora.install.clients import Scope
from aurora.install.disk import FileState, read_state, replace_file
from aurora.install.manifest import Manifest, Owned, Record, Undo, undo_between

_LONGEST = 160  # letters of a line in a diff: some agents keep their settings in one line


class Wanted(NamedTuple):
    """An addition to a file, for an agent; and the command that it names, if any."""

    file: Path
    agent: str
    addition: Addition
    command: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A file that changes; `after` is None for one that goes. `record` is the new one, or the old
    one of a file that is then free of us. `edited`: others changed it since, and only our parts go.
    """

    file: Path
    state: FileState
    after: str | None
    record: Record
    agents: tuple[str, ...]
    edited: bool = False

    def diff(self) -> str:
        before = self.state.content.decode().splitlines()
        after = (self.after or "").splitlines()
        name = shown(self.file)
        old = "/dev/null" if self.state.mode is None else name
        new = "/dev/null" if self.after is None else name
        lines = unified_diff(before, after, old, new, n=1, lineterm="")
        return "\n".join(
            line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …" for line in lines
        )


class Problem(NamedTuple):
    """A file that is left as it is, and why."""

    file: Path
    message: str
    hint: str


@dataclass(slots=True)
class Plan:
    """The changes, what cannot be done, and the records that stay after it."""

    changes: list[Change] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    manifest: Manifest = field(default_factory=dict)


# --- Making a plan ---


def plan_install(
    wanted: Iterable[Wanted], known: Manifest, *, agents: set[str], scope: Scope, project: Path
) -> Plan:
    """Put in what is wanted; of these agents, take out what is wanted no longer."""
    plan = Plan(manifest=dict(known))
    root = project if scope is Scope.PROJECT else None
    files: dict[Path, list[Wanted]] = {}
    refused: set[Path] = set()
    for each in wanted:
        if each.file in refused:
            continue
        target = _attempt(plan, each.file, partial(_target, each.file, root))
        if target is None:
            refused.add(each.file)
        else:
            files.setdefault(target, []).append(each)
    where = str(project) if root else ""
    left_alone = {file.resolve() for file in refused}
    for file, record in known.items():
        if record.project == where and agents & set(record.agents) and file not in left_alone:
            files.setdefault(file, [])
    for file, parts in files.items():
        record = known.get(file) or Record(file, scope, where)
        command = next((part.command for part in parts if part.command), record.command)
        owned: list[Owned] = []
        for part in parts:
            _merge(owned, Owned((part.agent,), part.addition))
        for other in _without(record, agents):
            _merge(owned, other)
        _attempt(plan, file, partial(_revise, plan, replace(record, command=command), owned))
    return plan


def plan_uninstall(known: Manifest, chosen: Callable[[Record], bool], agents: set[str]) -> Plan:
    """Take out what is for these agents from the chosen files; for no agent named, all of it."""
    plan = Plan(manifest=dict(known))
    for record in known.values():
        if chosen(record) and (not agents or agents & set(record.agents)):
            left = _without(record, agents) if agents else []
            _attempt(plan, record.file, partial(_release, plan, record, left))
    return plan


def _attempt(plan: Plan, file: Path, act: Callable[[], Path | None]) -> Path | None:
    """The result; an error becomes a problem of the file."""
    try:
        return act()
    except UnicodeDecodeError as exc:
        error: AuroraError = ConfigError(f"it is not UTF-8: {exc.reason}")
    except AuroraError as exc:
        error = exc
    name = shown(file)
    message = error.message if name in error.message else f"{name}: {error.message}"
    hint = error.hint or "mend it, or leave this agent out; then run the command again"
    plan.problems.append(Problem(file, message, hint))
    return None


def _target(file: Path, project: Path | None) -> Path:
    """The file behind links. It belongs to this user, and to the project if there is one."""
    target = file.resolve()
    if project and not target.is_relative_to(project.resolve()):
        raise ConfigError(
            f"{shown(file)} leads out of the project, to {target}",
            hint="nothing is written there; replace the link by a file",
        )
    above = next(folder for folder in (target, *target.parents) if folder.exists())
    if is_foreign(above):
        raise ConfigError(
            f"{shown(above)} belongs to another user",
            hint="take it over with `chown`, if it is yours",
        )
    if not os.access(above, os.W_OK):
        raise ConfigError(f"Cannot write {shown(above)}: it is read-only", hint="check its mode")
    return target


def _merge(owned: list[Owned], new: Owned) -> None:
    """Agents that want the same share it."""
    for number, each in enumerate(owned):
        if each.addition.place == new.addition.place:
            agents = tuple(dict.fromkeys((*each.agents, *new.agents)))
            owned[number] = Owned(agents, each.addition)
            return
    owned.append(new)


def _without(record: Record, agents: set[str]) -> list[Owned]:
    """What is for other agents, too."""
    left = [
        Owned(tuple(name for name in names if name not in agents), addition)
        for names, addition in record.owned
    ]
    return [each for each in left if each.agents]


def _release(plan: Plan, record: Record, left: Sequence[Owned]) -> Path | None:
    """Plan the file with only what is left, unless it is now another one."""
    root = Path(record.project) if record.project else None
    if record.file.exists() and _target(record.file, root) != record.file:
        raise ConfigError(f"{shown(record.file)} is now a link", hint="replace it by a file")
    return _revise(plan, record, left)


def _revise(plan: Plan, record: Record, wanted: Sequence[Owned]) -> Path | None:
    """Plan the file with what is wanted in place of what the record has."""
    file, state = record.file, read_state(record.file)
    is_there, edited = state.mode is not None, False
    after: str | None
    undo: list[Undo] = []
    owned: list[Owned] = []
    if wanted:
        after, undo, owned = _edited(state.content.decode(), record.owned, wanted)
    elif is_there:
        after, edited = _freed(record, state)
    else:  # a run was killed before it wrote the file, or somebody removed it
        plan.manifest.pop(file, None)
        if any(Path(folder).exists() for folder in record.folders):
            plan.changes.append(Change(file, state, None, record, record.agents))
        return file
    plan.manifest.pop(file, None)
    kept = None
    if owned:
        made = tuple(str(folder) for folder in reversed(file.parents) if not folder.exists())
        kept = replace(record, created=record.created or not is_there,
                       folders=record.folders or made)  # fmt: skip
        if undo or not is_there:
            before = state.content if is_there else None
            kept = kept.extended(before, (after or "").encode(), tuple(undo))
        kept = replace(kept, owned=tuple(owned))
        plan.manifest[file] = kept
    if after is None or not is_there or after.encode() != state.content:
        agents = dict.fromkeys([*record.agents, *(n for each in wanted for n in each.agents)])
        gone = record if kept is None else kept
        plan.changes.append(Change(file, state, after, gone, tuple(agents), edited))
    return file


def _freed(record: Record, state: FileState) -> tuple[str | None, bool]:
    """The file without us: as it was, or else without our parts, as others edited it."""
    first = record.restored(state.content)
    if first is not None:
        return (None if record.created and not first else first.decode()), False
    text, _, _ = _edited(state.content.decode(), record.owned, ())
    is_empty = text.strip("\ufeff \t\r\n") in ("", "{}")
    return (None if record.created and is_empty else text), True


def _edited(
    text: str, old: Sequence[Owned], wanted: Sequence[Owned]
) -> tuple[str, list[Undo], list[Owned]]:
    """The text with what is wanted, what each edit replaced, and what is ours in it now."""
    texts = [text]
    earlier = {each.addition.place: each.addition for each in old}
    places = {each.addition.place for each in wanted}
    for each in reversed(old):
        if each.addition.place not in places:
            texts.append(each.addition.take(texts[-1]))
    owned = []
    for agents, addition in wanted:
        text, previous = texts[-1], earlier.get(addition.place)
        if addition.is_in(text):
            if previous is not None:  # otherwise it was there before us, and stays after us
                owned.append(Owned(agents, inherit(addition, previous)))
            continue
        is_ours = previous is not None and previous.is_in(text)
        if isinstance(addition, OwnFile) and text and not is_ours:
            raise ConfigError("it has another content than ours", hint="move it out of the way")
        fitted = inherit(addition, previous) if previous else addition.fitted(text)
        if fitted is not None:
            texts.append(fitted.put(text))
            _require_in(fitted, texts[-1])
            owned.append(Owned(agents, fitted))
    undo = [undo_between(old, new) for old, new in pairwise(texts) if old != new]
    return texts[-1], undo, owned


def _require_in(addition: Addition, text: str) -> None:
    with suppress(ConfigError):
        if addition.is_in(text):
            return
    raise ConfigError("it is written in a way that cannot be extended")


# --- Doing it ---


def carry_out(plan: Plan, home: Path, known: Manifest) -> list[Change]:
    """Write the files, and return what changed. What fails becomes a problem of the plan."""
    manifests.save(home, {**known, **plan.manifest})
    for file in {**known, **plan.manifest}:
        remove_leftovers(file)
    done = []
    for change in plan.changes:
        try:
            _write(change)
            done.append(change)
        except (OSError, AuroraError) as exc:
            reason = exc.message if isinstance(exc, AuroraError) else exc.strerror or str(exc)
            hint = exc.hint if isinstance(exc, AuroraError) else "check the file's owner and mode"
            plan.problems.append(Problem(change.file, f"{shown(change.file)}: {reason}", hint))
            plan.manifest.pop(change.file, None)
            if change.file in known:
                plan.manifest[change.file] = known[change.file]
    manifests.save(home, plan.manifest)
    return done


def _write(change: Change) -> None:
    if change.after is not None:
        content, is_private = change.after.encode(), not change.record.project
        replace_file(change.file, content, change.state, private=is_private)
        return
    if read_state(change.file) != change.state:
        raise ConfigError(f"{shown(change.file)} has just been changed", hint="try again")
    change.file.unlink(missing_ok=True)
    for folder in reversed(change.record.folders):
        with suppress(OSError):  # others put something into it
            Path(folder).rmdir()
