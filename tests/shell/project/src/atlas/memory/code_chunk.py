"""Chunks of source code."""

import ast

from atlas.memory.base_chunk import BaseChunk


class CodeChunk(BaseChunk):
    """A function, method or class."""

    @property
    def signature(self):
        return self.content.partition("\n")[0].rstrip(":")


def parse_python(path, text):
    """The functions and classes of a module."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield CodeChunk(path, node.name, ast.get_source_segment(text, node) or "")
