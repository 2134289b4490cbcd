"""Trains the model for a given time, in one call or in several.

    python -m training.model.train READY model.npz --seconds 900
        [--state FILE] [--now 500] [--start old.npz] [--rate 1e-3] [--batch 2048] [--device cuda]
        [--shallow]

READY is what `prepare` made. `--seconds` is the length of the whole training, by which the rate
rises and falls; `--now` ends this call earlier, and the next one with the same `--state` goes on.
`--start` begins with a trained model instead of the teachers' tables. `--shallow` trains the table
alone, as if there were no layers: a CPU can do that.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.corpus import KINDS
from training.model.batches import Batches, Sides
from training.model.losses import Loss, Maps, Trust, find_loss
from training.model.student import Student, load_student, save_student

# Of each kind: MiniLM, e5, the pair itself. MiniLM knows code and cannot read CJK; e5 has seen
# dialogue; pairs of a gloss are often no more than alike.
TRUST = {
    "code": (1.0, 0.4, 0.05),
    "prose": (0.6, 1.0, 0.2),
    "gloss": (0.7, 0.8, 0.0),
    "talk": (0.2, 1.2, 0.05),
    "cjk": (0.0, 1.2, 0.15),
}
BATCH = {"cuda": 2048, "cpu": 256}
TABLE_RATE = 3.0  # times the rate of the layers: most rows are seldom touched
WARM_UP, COOL = 0.03, 0.02  # share of the time that the rate rises; what is left of it at the end
DECAY = 0.01
TELL, SAVE = 20, 240  # seconds between two lines, and two savings


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


def begin(ready: Path, start: Path | None, device: str) -> Course:
    torch.manual_seed(0)
    counts = np.load(ready / "counts.npy")
    if start:
        student = load_student(start)
        if len(student.log_weight) != len(counts):
            raise SystemExit(f"{start} has other pieces than {ready}")
    else:
        student = Student(len(counts))
        student.begin(np.load(ready / "start.npy"), counts)
    student, maps = student.to(device), Maps().to(device)
    rows = [student.table.weight, student.log_weight]
    layers = [*student.layers.parameters(), *maps.parameters()]
    groups = [
        {"params": rows, "times": TABLE_RATE, "weight_decay": 0.0},
        {"params": [student.position], "times": 1.0, "weight_decay": 0.0},
        {"params": layers, "times": 1.0, "weight_decay": DECAY},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99), fused=True)
    return Course(student, maps, optimizer)


def rate_at(progress: float) -> float:
    """Up in a line, down in half a cosine."""
    if progress < WARM_UP:
        return max(progress / WARM_UP, 0.01)
    fallen = (1 + math.cos(math.pi * min(1.0, progress))) / 2
    return COOL + (1 - COOL) * fallen


def step(course: Course, sides: Sides, batch: np.ndarray, rate: float) -> Loss:
    device = sides.trust.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        a, b = (sides.embed(course.student, side, batch) for side in (0, 1))
    rows = torch.from_numpy(batch).to(sides.trust.device)
    loss = find_loss(a, b, sides.teachers(rows), Trust(*sides.trust[:, rows]), course.maps)
    course.optimizer.zero_grad(set_to_none=True)
    loss.total.backward()
    nn.utils.clip_grad_norm_(course.student.parameters(), 1.0)
    for group in course.optimizer.param_groups:
        group["lr"] = rate * group["times"]
    course.optimizer.step()
    return loss


def train(course: Course, batches: Batches, sides: Sides, options: argparse.Namespace) -> None:
    """Until the whole time is over, or the time of this call."""
    began, before, saved = time.monotonic(), course.seconds, 0.0
    told = before
    losses: list[Tensor] = []
    pairs = 0
    while course.seconds < options.seconds and course.seconds - before < options.now:
        batch = batches.draw()
        loss = step(course, sides, batch, options.rate * rate_at(course.seconds / options.seconds))
        losses.append(torch.stack([*loss, loss.total]).detach())
        pairs += len(batch)
        course.steps += 1
        if course.steps % 10 == 0:
            losses[-1].cpu()  # a GPU runs ahead of the clock
        course.seconds = before + time.monotonic() - began
        if course.seconds - told > TELL:
            parts = torch.stack(losses).mean(0).tolist()
            named = zip((*Loss._fields, "sum"), parts, strict=True)
            print(
                f"{course.seconds:6.0f} s  step {course.steps:6,}",
                *(f"{name} {value:.4f}" for name, value in named),
                f"{pairs / (course.seconds - before):,.0f} pairs/s",
                sep="  ",
                flush=True,
            )
            losses, told = [], course.seconds
        if options.state and course.seconds - before - saved > SAVE:
            course.save(options.state)
            saved = course.seconds - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ready", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--now", type=float, default=math.inf)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--hard", type=float, default=0.5, help="share of hard negatives")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--drop", type=float, default=0.1, help="share of pieces left unread")
    parser.add_argument("--shallow", action="store_true")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    course = begin(options.ready, options.start, options.device)
    if options.state and options.state.exists():
        course.load(options.state)
    course.student.is_shallow = options.shallow
    if options.compile:
        course.student.compile(dynamic=True)
    size = options.batch or BATCH[options.device]
    batches = Batches(options.ready, size, seed=course.steps, hard=options.hard)
    trust = torch.tensor([TRUST[kind] for kind in KINDS])
    sides = Sides(options.ready, trust, options.device, drop=options.drop)
    train(course, batches, sides, options)
    if options.state:
        course.save(options.state)
    save_student(course.student, options.out)
    print(f"{course.seconds:.0f} of {options.seconds:.0f} s, {course.steps:,} steps: {options.out}")


if __name__ == "__main__":
    main()
