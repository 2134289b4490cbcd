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
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.corpus import KINDS
from training.model.batches import Batches, Sides
from training.model.losses import Loss, Maps
from training.model.steps import Course, Steps
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
    for group in groups:  # what a GPU repeats reads its rates from its memory
        group["lr"] = torch.tensor(0.0, device=device)
    optimizer = torch.optim.AdamW(
        groups, betas=(0.9, 0.99), fused=True, capturable=device == "cuda"
    )
    return Course(student, maps, optimizer)


def rate_at(progress: float) -> float:
    """Up in a line, down in half a cosine."""
    if progress < WARM_UP:
        return max(progress / WARM_UP, 0.01)
    fallen = (1 + math.cos(math.pi * min(1.0, progress))) / 2
    return COOL + (1 - COOL) * fallen


def train(steps: Steps, batches: Batches, options: argparse.Namespace) -> None:
    """Until the whole time is over, or the time of this call."""
    course = steps.course
    began, before, saved = time.monotonic(), course.seconds, 0.0
    told, told_steps = before, course.steps
    losses: Tensor | float = 0.0
    while course.seconds < options.seconds and course.seconds - before < options.now:
        rate = options.rate * rate_at(course.seconds / options.seconds)
        losses = losses + steps.take(batches.draw(), rate)
        if course.steps % 10 == 0:
            losses.cpu()  # a GPU runs ahead of the clock
        course.seconds = before + time.monotonic() - began
        if course.seconds - told > TELL:
            done = course.steps - told_steps
            named = zip((*Loss._fields, "sum"), (losses / done).tolist(), strict=True)
            print(
                f"{course.seconds:6.0f} s  step {course.steps:6,}",
                *(f"{name} {value:.4f}" for name, value in named),
                f"{done / (course.seconds - told):.1f} steps/s",
                sep="  ",
                flush=True,
            )
            losses, told, told_steps = 0.0, course.seconds, course.steps
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
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    course = begin(options.ready, options.start, options.device)
    if options.state and options.state.exists():
        course.load(options.state)
    course.student.is_shallow = options.shallow
    size = options.batch or BATCH[options.device]
    batches = Batches(options.ready, size, seed=course.steps, hard=options.hard)
    trust = torch.tensor([TRUST[kind] for kind in KINDS])
    sides = Sides(options.ready, trust, options.device, drop=options.drop)
    train(Steps(course, sides), batches, options)
    if options.state:
        course.save(options.state)
    save_student(course.student, options.out)
    print(f"{course.seconds:.0f} of {options.seconds:.0f} s, {course.steps:,} steps: {options.out}")


if __name__ == "__main__":
    main()
