"""The model that comes with the package."""

from __future__ import annotations

import numpy as np
import pytest

from aurora.embeddings.aurora.model import NumpyLayers, OnnxLayers, window_sums
from aurora.embeddings.aurora.provider import FOLDER, WEIGHTS, AuroraProvider
from aurora.embeddings.aurora.tokens import PIECES, read_tokenizer
from aurora.embeddings.aurora.weights import GRAPH, piece_vectors, read_tensors, weights_digest
from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.compute import unit_rows

# Each asks for the passage beside it, mostly without a word of it.
PAIRS = [
    ("how do I terminate a running process", "os.kill(pid, signal.SIGTERM)  # end the job"),
    ("sort a list in descending order", "return sorted(values, reverse=True)"),
    ("log in with a password", "def authenticate(user, secret): check the user's credentials"),
    ("remove a file", "path.unlink(missing_ok=True)  # delete it from disk"),
    ("what do we eat tonight", "Ana: I could cook pasta for dinner, or we order a pizza."),
    ("the drag of a wing at high speed", "Aerodynamic forces on airfoils in supersonic flow."),
    ("数据库连接失败", "无法连接到数据库服务器,请检查网络设置。"),
    ("電車が遅れている理由", "電車は大雪のため一部の区間で運休になりました。"),
    ("서울의 인구는 얼마인가", "대한민국의 수도에는 천만 명 가까이가 산다."),
]


@pytest.fixture(scope="module", params=["deep", "shallow"])
def provider(request: pytest.FixtureRequest) -> AuroraProvider:
    return AuroraProvider(ProviderOptions(request.param))


def test_its_files_are_those_that_the_fingerprint_names() -> None:
    assert weights_digest(FOLDER) == WEIGHTS


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 16e6


@pytest.mark.parametrize("size", [256, 128, 64])
def test_a_question_is_nearest_to_its_answer(provider: AuroraProvider, size: int) -> None:
    """And at a half and a quarter of the numbers still to nearly all."""
    asked, found = (
        unit_rows(np.asarray(provider.embed_batch(side))[:, :size])
        for side in zip(*PAIRS, strict=True)
    )
    right = (asked @ found.T).argmax(axis=1) == np.arange(len(PAIRS))
    assert right.sum() >= len(PAIRS) - (size < 256), [PAIRS[at][0] for at in np.flatnonzero(~right)]


def test_both_runtimes_understand_the_same() -> None:
    words = read_tokenizer(FOLDER / PIECES)
    tensors = read_tensors(FOLDER, words.size)
    for text in (text for pair in PAIRS for text in pair):
        rows = piece_vectors(tensors, np.array(words.encode(text)))
        by_graph = OnnxLayers(FOLDER / GRAPH, threads=1)(rows, [len(rows)])
        assert by_graph is not None
        amounts, lengths = np.ones(len(rows), np.float32), [len(rows)]
        by_numpy = NumpyLayers(tensors)(rows.copy(), lengths, amounts)
        by_graph = window_sums(by_graph, lengths, amounts)
        assert (unit_rows(by_graph) * unit_rows(by_numpy)).sum() > 0.99


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("log a user in", True), ("getUserData", True), ("xyzabc123 login", True), ("用户", True),
        ("xyzabc123", False), ("asdfgh qwertzu", False), ("12 34", False), ("🙂", False),
    ],
)  # fmt: skip
def test_it_says_what_it_has_no_word_for(
    provider: AuroraProvider, text: str, is_known: bool
) -> None:
    assert provider.knows(text) is is_known
