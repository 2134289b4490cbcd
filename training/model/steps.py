"""One step after another: what is learnt from a batch, and how far that has come.

A step is thousands of small operations, and on a GPU it takes far longer to ask for them than to do
them. So each kind's step is recorded once and then played again, with another batch in its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from training.model.batches import Batch, Sides
from training.model.losses import Maps, Trust, find_loss
from training.model.student import Student

UNRECORDED = 2  # steps of a kind before it is recorded, in which memory is taken and kernels load
LARGEST = 1.0  # length of a gradient


@dataclass(slots=True)
class Course:
    """How far training is; goes on where an earlier call stopped."""

    student: Student
    maps: Maps
    optimizer: torch.optim.Optimizer
    seconds: float = 0.0
    steps: int = 0

    def save(self, file: Path) -> None:
        parts = {
            name: getattr(self, name).state_dict() for name in ("student", "maps", "optimizer")
        }
        fresh = file.with_suffix(".new")
        torch.save(parts | {"seconds": self.seconds, "steps": self.steps}, fresh)
        fresh.replace(file)

    def load(self, file: Path) -> None:
        found = torch.load(file, map_location=self.student.position.device, weights_only=True)
        for name in ("student", "maps", "optimizer"):
            getattr(self, name).load_state_dict(found[name])
        self.seconds, self.steps = found["seconds"], found["steps"]


class Recorded(NamedTuple):
    """A step that a GPU can repeat: it reads a batch's plan here and writes its losses there."""

    graph: torch.cuda.CUDAGraph
    plan: Tensor
    losses: Tensor


class Steps:
    """Takes them, quicker on a GPU once each kind is recorded."""

    def __init__(self, course: Course, sides: Sides) -> None:
        self.course, self._sides = course, sides
        self._device = sides.trust.device
        self._taken: Counter[int] = Counter()
        self._recorded: dict[int, Recorded] = {}
        if self._device.type == "cuda":  # recording does not work on the stream that is default
            torch.cuda.set_stream(torch.cuda.Stream())

    def take(self, batch: Batch, rate: float) -> Tensor:
        """The parts of the loss, and their sum."""
        for group in self.course.optimizer.param_groups:
            group["lr"].fill_(rate * group["times"])
        plan = self._sides.plan(batch)
        self.course.steps += 1
        self._taken[batch.kind] += 1
        if self._device.type != "cuda":
            return self._learn(batch.kind, plan)
        if self._taken[batch.kind] <= UNRECORDED:
            return self._learn(batch.kind, plan.to(self._device))
        if batch.kind not in self._recorded:
            self._recorded[batch.kind] = self._record(batch.kind, plan.to(self._device))
        recorded = self._recorded[batch.kind]
        recorded.plan.copy_(plan.pin_memory(), non_blocking=True)
        recorded.graph.replay()
        return recorded.losses

    def _record(self, kind: int, plan: Tensor) -> Recorded:
        graph = torch.cuda.CUDAGraph()
        self.course.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            losses = self._learn(kind, plan)
        return Recorded(graph, plan, losses)

    def _learn(self, kind: int, plan: Tensor) -> Tensor:
        student, sides = self.course.student, self._sides
        on_gpu = self._device.type == "cuda"
        with torch.autocast(self._device.type, torch.bfloat16, enabled=on_gpu):
            a, b = (sides.embed(student, kind, side, plan) for side in (0, 1))
        rows = plan[0]
        trust = Trust(*sides.trust[:, rows])
        loss = find_loss(a, b, sides.teachers(rows), trust, self.course.maps)
        self.course.optimizer.zero_grad(set_to_none=True)
        loss.total.backward()
        nn.utils.clip_grad_norm_(student.parameters(), LARGEST)
        self.course.optimizer.step()
        return torch.stack([*loss, loss.total]).detach()
