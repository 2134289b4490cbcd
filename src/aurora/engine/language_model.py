"""The language model of the settings, put together: for other words, and for another order.

Made when a search first wants it; its answers are kept with what is derived from the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from aurora.config.schema import LlmSettings
from aurora.endpoints import LLM
from aurora.errors import LlmError
from aurora.llm.cache import AnswerCache, LanguageModel
from aurora.llm.chat import Chat, ChatOptions
from aurora.llm.expander import QueryExpander
from aurora.llm.reranker import Reranker


class LlmHelp:
    """Both kinds, with one model: where one had to wait, the other does not ask."""

    def __init__(self, settings: LlmSettings, *, folder: Path, environ: Mapping[str, str]) -> None:
        """`folder`: where answers are kept. Raises `LlmError` for a wrong address or key."""
        model = LanguageModel(_chat(settings, environ), AnswerCache(folder))
        self.expander, self.reranker = QueryExpander(model), Reranker(model)


def check_llm(settings: LlmSettings, environ: Mapping[str, str]) -> str:
    """Who would be asked. Nobody is: raises `LlmError` for what is missing here."""
    chat = _chat(settings, environ)
    chat.require_package()
    host = chat.address.host
    # A keyring may want its password, so it is not asked either.
    if not (chat.has_key or chat.address.is_near or find_spec("keyring")):
        hint = f"set {LLM.variable}, or keep one with `keyring set aurora {host}`"
        raise LlmError(f"There is no key for {host}", hint=hint)
    return f"{chat.model} at {chat.address.url}"


def _chat(settings: LlmSettings, environ: Mapping[str, str]) -> Chat:
    key = LLM.key_in(environ, settings.endpoint)
    return Chat(ChatOptions(settings.endpoint, settings.model, settings.seconds, key))
