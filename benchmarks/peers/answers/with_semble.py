"""semble over files, cut and ranked as it does, with a stand-in for its model.

Its own model comes from a hub that a run without a network does not reach. The stand-in is the
table that our default embedder uses too, in the form that semble loads: so this measures its
ranking, and not what it is with potion-code. What is no file becomes one: of its language, or
Markdown, which semble then searches as documents.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from asking import PLACES, Ask, Text, main
from model2vec import StaticModel
from safetensors.numpy import load_file
from semble import SembleIndex
from semble.types import ContentType
from tokenizers import Tokenizer

SUFFIXES = {"python": ".py"}


@cache
def stand_in() -> str:
    found = find_spec("wordllama")
    assert found
    assert found.origin
    package, folder = Path(found.origin).parent, tempfile.mkdtemp(prefix="stand-in-")
    (table,) = load_file(package / "weights/l2_supercat_256.safetensors").values()
    words = Tokenizer.from_file(str(package / "tokenizers/l2_supercat_tokenizer_config.json"))
    StaticModel(table.astype("float32"), words, normalize=True).save_pretrained(folder)
    return folder


def open_texts(texts: Sequence[Text]) -> Ask:
    folder = Path(tempfile.mkdtemp(prefix="semble-"))
    os.environ["SEMBLE_CACHE_LOCATION"] = str(folder / "cache")
    (folder / "cache").mkdir()
    names = {}
    for number, one in enumerate(texts):
        name = one.path or f"{number}{SUFFIXES.get(one.language, '.md')}"
        names[name] = one.id
        target = folder / "texts" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(one.text, encoding="utf-8")
    is_code = any(not name.endswith(".md") for name in names)
    content = ContentType.CODE if is_code else ContentType.DOCS
    index = SembleIndex.from_path(folder / "texts", content, model_path=stand_in())

    def ask(question: str) -> list[str]:
        found = index.search(question, top_k=PLACES)
        return list(dict.fromkeys(names[one.chunk.file_path] for one in found))

    return ask


if __name__ == "__main__":
    main({"semble 0.7 (stand-in model)": open_texts}, packages=("semble", "model2vec"))
