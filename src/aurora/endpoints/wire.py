"""What goes over the wire for every purpose alike: how a request is written, what an error says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_ALONE = re.compile("[\ud800-\udfff]")  # halves of a pair: no UTF-8 can hold them

# What errors are called, of OpenAI, Ollama, vLLM and llama.cpp. No other word of an error is shown:
# it may repeat the text, or the key.
_CODES = {
    "access_terminated", "account_deactivated", "api_error", "authentication_error",
    "BadRequestError", "billing_hard_limit_reached", "billing_not_active",
    "context_length_exceeded", "exceed_context_size_error", "InternalServerError",
    "insufficient_quota", "invalid_api_key", "invalid_request_error", "model_not_found",
    "not_found", "not_found_error", "not_supported_error", "NotFoundError", "overloaded_error",
    "permission_error", "rate_limit_exceeded", "server_error", "string_above_max_length",
    "unavailable_error", "unsupported_country_region_territory",
}  # fmt: skip


class BadAnswerError(Exception):
    """An answer that is none. Its words go on after "the endpoint …"."""


def write_body(sent: Mapping[str, object]) -> bytes:
    """As JSON, without the characters that no UTF-8 can hold: many servers trip over them."""
    return _ALONE.sub("\ufffd", json.dumps(sent, ensure_ascii=False)).encode()


def read_code(answer: bytes) -> str:
    """The one word that an error is called by, if it is a known one."""
    try:
        error = json.loads(answer)["error"]
        words = [error] if isinstance(error, str) else [error.get("code"), error.get("type")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return next((w for w in words if isinstance(w, str) and w in _CODES), "")
