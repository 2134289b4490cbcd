"""Views of the state of a memory: numbers, settings, doctor's findings, and a check of answers."""

from __future__ import annotations

from aurora.config.load import as_typed, without_password
from aurora.config.schema import CATALOGUE, value_of
from aurora.display.reports import findings_record
from aurora.engine import Memory
from aurora.types import Json
from aurora.web.door import Door


def health(door: Door) -> dict[str, Json]:
    """What the memory holds, as `aur mem stats --json` prints it, the settings and the model."""
    memory = door.memory
    layers = memory.layers(workspace=True)
    numbers = {name: layer.stats().as_record() for name, layer in layers.items()}
    own = numbers.pop(memory.label, None)
    others: dict[str, Json] = {**numbers}
    loaded = memory._opened.files.current()
    settings: list[Json] = [
        {
            "key": key,
            "value": without_password(as_typed(value_of(loaded.settings, key))),
            "origin": loaded.origins.get(key, "default"),
        }
        for key in CATALOGUE
    ]
    return {
        "stats": own and {**own, "name": memory.label, "others": others},
        "settings": settings,
        "model": _model(memory),
    }


def _model(memory: Memory) -> dict[str, Json]:
    """The provider that the settings choose, and the embedder of the vectors."""
    owner = memory.admin.vectors_of() if memory.exists else None
    return {
        "chosen": memory.admin.chosen_embedder() or None,
        "name": owner.name if owner else None,
        "dimension": owner.dimension if owner else None,
        "fingerprint": owner.fingerprint if owner else None,
    }


def doctor(door: Door) -> dict[str, Json]:
    """The findings of `aur doctor --quick`, as its JSON."""
    return findings_record(list(door.examine()))


def self_check(door: Door) -> dict[str, Json]:
    """The state of the latest check, and its result as `aur eval --self --json` prints it."""
    run = door.self_check
    return {
        "state": run.state,
        "done": run.done,
        "total": run.total,
        "result": run.result,
        "error": run.error or None,
    }


def start_self_check(door: Door) -> dict[str, Json]:
    """Let the memory ask itself 200 questions, in the background. Nothing is written."""
    door.self_check.start(door.memory)
    return self_check(door)
