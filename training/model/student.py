"""The model in torch, as it is trained: one table, and two layers above it.

Its two vectors of a text differ only by the layers: `shallow` sums the rows of a text's pieces,
`deep` sums what the layers make of them. The layers begin as zeros, so both begin as the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding, relu, scaled_dot_product_attention

from aurora.embeddings.aurora.weights import INNER, LAYERS, WIDTH, WINDOW

HEADS = 4
EPSILON = 1e-6
COMMON = 1e-3  # a piece of this share of all places begins with half the weight of a rare one


class Vectors(NamedTuple):
    """Sums over the places of each text, not yet of length 1."""

    shallow: Tensor
    deep: Tensor


class Layer(nn.Module):
    """Attention, then a wider layer; each adds to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.gain1, self.gain2 = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))
        self.qkv, self.qkv_bias = _matrix(WIDTH, 3 * WIDTH)
        self.out, self.out_bias = _matrix(WIDTH, WIDTH, zero=True)
        self.up, self.up_bias = _matrix(WIDTH, INNER)
        self.down, self.down_bias = _matrix(INNER, WIDTH, zero=True)

    def forward(self, h: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        n, length, _ = h.shape
        near = rms(h + position) * self.gain1
        qkv = (near @ self.qkv + self.qkv_bias).view(n, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        h = h + seen.transpose(1, 2).flatten(2) @ self.out + self.out_bias
        inner = relu(rms(h) * self.gain2 @ self.up + self.up_bias)
        return h + inner @ self.down + self.down_bias


class Student(nn.Module):
    """`ids` and `share` are texts × places; a share of 0 is no place."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.table = nn.Embedding(pieces, WIDTH)
        self.log_weight = nn.Parameter(torch.zeros(pieces))
        self.position = nn.Parameter(torch.randn(WINDOW, WIDTH) * 0.02)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.is_shallow = False  # leaves the layers out, which is quick on a CPU

    def forward(self, ids: Tensor, share: Tensor) -> Vectors:
        rows = self.table(ids)
        counted = share * embedding(ids, self.log_weight[:, None])[..., 0].exp()
        if self.is_shallow:
            shallow = _sum(rows, counted)
            return Vectors(shallow, shallow)
        hidden, mask = rows, (share > 0)[:, None, None]
        for layer in self.layers:
            hidden = layer(hidden, self.position[: ids.shape[1]], mask)
        return Vectors(_sum(rows, counted), _sum(hidden, counted))

    def begin(self, table: NDArray[np.float32], counts: NDArray[np.int64]) -> None:
        """With a table, and with weights that make little of what is everywhere."""
        self.table.weight.data.copy_(torch.from_numpy(table))
        shares = torch.from_numpy(counts / counts.sum())
        self.log_weight.data.copy_((COMMON / (COMMON + shares)).log())


def rms(h: Tensor) -> Tensor:
    """Rows by the root of their mean square."""
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + EPSILON)


def shares(ids: Tensor, mask: Tensor) -> Tensor:
    """A piece that comes n times in a text counts n^-1/2 at each of its places."""
    same = (ids[:, :, None] == ids[:, None, :]) & mask[:, None, :]
    return torch.where(mask, same.sum(-1).clamp(min=1).float().rsqrt(), 0.0)


def _sum(rows: Tensor, counted: Tensor) -> Tensor:
    return torch.einsum("nl,nlw->nw", counted.to(rows.dtype), rows).float()


def _matrix(inputs: int, outputs: int, *, zero: bool = False) -> tuple[nn.Parameter, nn.Parameter]:
    matrix = torch.zeros(inputs, outputs) if zero else torch.randn(inputs, outputs) * inputs**-0.5
    return nn.Parameter(matrix), nn.Parameter(torch.zeros(outputs))


def to_arrays(student: Student) -> dict[str, NDArray[np.float32]]:
    """By the names that the model's file has."""
    found = {
        "table": student.table.weight,
        "weight": student.log_weight.exp(),
        "position": student.position,
    }
    for number, layer in enumerate(student.layers):
        for name, parameter in layer.named_parameters():
            found[f"{number}.{name.replace('_', '.')}"] = parameter
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in found.items()}


def save_student(student: Student, file: Path) -> None:
    """As float16, 24 MB: training goes on from it, and `export` makes the shipped files of it."""
    arrays = to_arrays(student)
    np.savez(file, **{name: array.astype(np.float16) for name, array in arrays.items()})


def load_student(file: Path) -> Student:
    arrays = {name: torch.tensor(array.astype(np.float32)) for name, array in np.load(file).items()}
    student = Student(len(arrays["table"]))
    student.table.weight.data.copy_(arrays["table"])
    student.log_weight.data.copy_(arrays["weight"].clamp(min=1e-6).log())
    student.position.data.copy_(arrays["position"])
    for number, layer in enumerate(student.layers):
        for name, parameter in layer.named_parameters():
            parameter.data.copy_(arrays[f"{number}.{name.replace('_', '.')}"])
    return student
