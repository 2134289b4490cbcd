"""Builds the language model of the settings, which expands queries and reranks results.

Its answers are cached with the derived indexes of the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from aurora.config.schema import LlmSettings
from aurora.endpoints import LLM
from aurora.engine.embedders import api_key
from aurora.errors import LlmError
from aurora.llm.cache import MOST, AnswerCache, LanguageModel
from aurora.llm.chat import Chat, ChatOptions
from aurora.llm.expander import QueryExpander
from aurora.llm.reranker import Reranker


class LlmHelp:
    """Expander and reranker, with one model: after a timeout of one, the other does not call it."""

    def __init__(
        self,
        settings: LlmSettings,
        *,
        folder: Path,
        environ: Mapping[str, str],
        keeps: bool = True,
    ) -> None:
        """`folder` caches answers; unless it `keeps` them, they are only read there. Raises
        `LlmError` for a wrong address or key."""
        cache = AnswerCache(folder, most=MOST if keeps else 0)
        model = LanguageModel(_chat(settings, environ), cache)
        self.expander, self.reranker = QueryExpander(model), Reranker(model)


def check_llm(settings: LlmSettings, environ: Mapping[str, str]) -> str:
    """The model and its address. No request is sent; raises `LlmError` if a part is missing."""
    chat = _chat(settings, environ)
    chat.require_package()
    host = chat.address.host
    # A keyring may prompt for its password, so it is not read.
    if not (chat.has_key or chat.address.is_near or find_spec("keyring")):
        hint = f"set {LLM.variable}, or keep one with `keyring set aurora {host}`"
        raise LlmError(f"There is no key for {host}", hint=hint)
    return f"{chat.model} at {chat.address.url}"


def _chat(settings: LlmSettings, environ: Mapping[str, str]) -> Chat:
    key = api_key(environ, "llm", settings.endpoint)
    return Chat(ChatOptions(settings.endpoint, settings.model, settings.seconds, key))
