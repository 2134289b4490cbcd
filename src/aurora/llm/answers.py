"""What an endpoint answered to a message, into the text of the model."""

from __future__ import annotations

import json

from aurora.endpoints.wire import BadAnswerError, read_code


def read_message(answer: bytes) -> str:
    """The text of the first choice. Raises `BadAnswerError`."""
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError) as exc:
        raise BadAnswerError("answered with something that is no JSON") from exc
    if isinstance(found, dict) and found.get("error"):
        code = read_code(answer)
        raise BadAnswerError(f"answered with an error{f' ({code})' if code else ''}")
    try:
        said = found["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError) as exc:
        raise BadAnswerError("answered without a message of the model") from exc
    if said is None or (isinstance(said, str) and not said.strip()):
        raise BadAnswerError("answered with an empty message")
    if not isinstance(said, str):
        raise BadAnswerError("answered with a message that is no text")
    return said
