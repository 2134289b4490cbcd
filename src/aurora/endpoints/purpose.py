"""What endpoints are asked for: which settings name one, which key it gets, what goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from aurora.errors import AuroraError, EmbeddingError, LlmError, RefusedError

OPENAI = "https://api.openai.com/v1"  # where the settings name no other
OPENAI_KEY = "OPENAI_API_KEY"


class Purpose(NamedTuple):
    """`variable` holds its key; `refused` is the error for what a server does not want to read."""

    section: str  # of the settings
    path: str  # below the address
    task: str  # what a model should do there
    variable: str
    error: type[AuroraError]
    refused: type[AuroraError]

    @property
    def setting(self) -> str:
        """The one that says where the endpoint is, as messages name it."""
        return f"`{self.section}.endpoint`"

    def key_in(self, environ: Mapping[str, str], endpoint: str) -> str:
        """A key for OpenAI is sent to OpenAI; one for Aurora to wherever the settings say."""
        own = environ.get(self.variable, "")
        to_openai = urlsplit(endpoint or OPENAI).hostname == urlsplit(OPENAI).hostname
        return own or (environ.get(OPENAI_KEY, "") if to_openai else "")


EMBEDDING = Purpose(
    "embedding", "/embeddings", "embed", "AURORA_EMBEDDING_API_KEY", EmbeddingError, RefusedError
)
LLM = Purpose("llm", "/chat/completions", "answer", "AURORA_LLM_API_KEY", LlmError, LlmError)
