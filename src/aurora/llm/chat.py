"""One message to a language model, and its answer, within a time that is never exceeded.

What an endpoint answered to a message, into the text of the model.
"""

from __future__ import annotations

import json
import math
import threading
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from aurora.concurrency import BackgroundTask
from aurora.endpoints import (
    LLM,
    OPENAI,
    BadAnswerError,
    Patience,
    Timing,
    find_key,
    parse_address,
    read_code,
    write_body,
)
from aurora.errors import LlmError

if TYPE_CHECKING:
    from aurora.endpoints import Endpoint


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


DEFAULT_MODEL = "gpt-4o-mini"  # small and cheap: it names a few words or numbers
REST = 30.0  # seconds in which a model that let us wait is not asked again
MOST_ABANDONED = 4  # threads in which a server may keep what nobody waits for any more
_WAITED = 1.0  # seconds after which a failure, too, has let us wait
_GRACE = 1.0  # more for the thread, so that it is who waits that tells of a time-out
_LONGEST = 65_536  # bytes of an answer


class ChatOptions(NamedTuple):
    """What the settings say of the model; nothing is OpenAI's own."""

    endpoint: str = ""
    model: str = ""
    seconds: float = 5.0  # for one answer, with all tries
    api_key: str = ""  # from the environment

    def __repr__(self) -> str:
        """Without the key: what is shown ends in logs."""
        key = "hidden" if self.api_key else ""
        return f"ChatOptions({self.endpoint!r}, {self.model!r}, {self.seconds!r}, {key!r})"


class Chat:
    """A model behind an endpoint. Threads may share it; made at no cost.

    A server may accept and say nothing, or send a byte of a header now and then: no time-out of a
    library covers all of it. So it is asked in a thread, and who waits stops in time. A model that
    let us wait is left alone for a while: not every search shall take as long.
    """

    def __init__(self, options: ChatOptions, *, timing: Timing | None = None) -> None:
        self.model = options.model or DEFAULT_MODEL
        self.address = parse_address(options.endpoint or OPENAI, LLM)
        # The keyring may want its own password, so it is asked later.
        self._key = find_key(options.api_key, self.address) if options.api_key else None
        self._seconds, self._timing = options.seconds, timing or Timing()
        self._endpoint: Endpoint | None = None
        self._opening, self._lock = threading.Lock(), threading.Lock()
        self._rests_until = -math.inf
        self._abandoned: list[BackgroundTask[str]] = []

    def ask(self, prompt: str, *, most_tokens: int) -> str:
        """What the model says to it. Raises `LlmError`, in time whatever happens."""
        self._require_awake()
        started = self._timing.clock()
        self._import()
        asking = BackgroundTask(partial(self._request, prompt, most_tokens))
        try:
            return asking.result(self._seconds - (self._timing.clock() - started))
        except TimeoutError:
            with self._lock:
                self._abandoned.append(asking)
            self._rest()
            told = f"gave no answer in {self._seconds:g} s, and is not asked again for {REST:g} s"
            raise self._error(told, "raise `llm.seconds`, or set another `llm.model`") from None
        except LlmError:
            if self._timing.clock() - started >= _WAITED:
                self._rest()
            raise

    def _require_awake(self) -> None:
        left = self._rests_until - self._timing.clock()
        if left > 0.0:
            told = f"let us wait a moment ago, and is not asked again for {math.ceil(left)} s"
            raise self._error(told)
        with self._lock:
            self._abandoned = [one for one in self._abandoned if not one.is_done]
            if len(self._abandoned) >= MOST_ABANDONED:
                raise self._error(f"still owes {len(self._abandoned)} answers")

    def _rest(self) -> None:
        self._rests_until = self._timing.clock() + REST

    def _request(self, prompt: str, most_tokens: int) -> str:
        message = {"role": "user", "content": prompt}
        sent = {"model": self.model, "messages": [message], "temperature": 0}
        body = write_body({**sent, "max_tokens": most_tokens})
        patience = Patience(attempts=2, seconds=self._seconds, silence=self._seconds + _GRACE)
        until = self._timing.clock() + self._seconds + _GRACE
        answer = self._open().post(body, limit=_LONGEST, patience=patience, until=until)
        try:
            return read_message(answer)
        except BadAnswerError as exc:
            raise self._error(str(exc)) from exc

    def _open(self) -> Endpoint:
        with self._opening:
            if self._endpoint is None:
                self._endpoint = self._make_endpoint()
            return self._endpoint

    @property
    def has_key(self) -> bool:
        """From the environment; the keyring may have one as well."""
        return self._key is not None

    def require_package(self) -> None:
        if find_spec("httpx2") is None:
            raise LlmError(
                "Asking a language model needs the package httpx2",
                hint="pip install 'aurora-memory[llm]'",
            )

    def _import(self) -> None:
        """Here and not in the thread: a program that ends while one imports may crash."""
        self.require_package()
        import aurora.endpoints  # noqa: F401, PLC0415 - it needs httpx2

    def _make_endpoint(self) -> Endpoint:
        from aurora.endpoints import Endpoint  # noqa: PLC0415

        key = self._key or find_key("", self.address)
        return Endpoint(self.address, key, self.model, self._timing)

    def _error(self, words: str, hint: str = "") -> LlmError:
        return LlmError(
            f"The endpoint {self.address.url} ({self.model}) {words}",
            hint=hint or "check `llm.endpoint` and `llm.model`",
        )
