"""One message to a language model, and its answer, within a time limit that always holds."""

from __future__ import annotations

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
    read_answer,
    require_key,
    write_body,
)
from aurora.errors import LlmError
from aurora.package_manager import install_command

if TYPE_CHECKING:
    from aurora.endpoint_client import Endpoint

DEFAULT_MODEL = "gpt-4o-mini"  # small and cheap: it names a few words or numbers
REST = 30.0  # seconds without requests after a slow answer
MOST_ABANDONED = 4  # threads with requests that timed out and still run
_SLOW = 1.0  # seconds after which a failure counts as a slow answer
_GRACE = 1.0  # more seconds for the thread, so that the caller reports the time-out
_LONGEST_ANSWER = 65_536  # bytes


class ChatOptions(NamedTuple):
    """The settings of the model; empty means OpenAI's own."""

    endpoint: str = ""
    model: str = ""
    seconds: float = 5.0  # for one answer, with all attempts
    api_key: str = ""  # from the environment

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        key = "hidden" if self.api_key else ""
        return f"ChatOptions({self.endpoint!r}, {self.model!r}, {self.seconds!r}, {key!r})"


class Chat:
    """A model behind an endpoint. Cheap to make; threads may share it.

    A server may accept a request and send nothing, or a byte now and then, and no time-out of a
    library covers all of that. So a thread sends the request, and the caller stops waiting in time.
    After a slow answer the model gets no request for a while, so that not every search is slow.
    """

    def __init__(self, options: ChatOptions, *, timing: Timing | None = None) -> None:
        self.model = options.model or DEFAULT_MODEL
        self.address = parse_address(options.endpoint or OPENAI, LLM)
        # The keyring is read later: it may ask the user for its password.
        self._key = find_key(options.api_key, self.address) if options.api_key else None
        self._seconds, self._timing = options.seconds, timing or Timing()
        self._endpoint: Endpoint | None = None
        self._opening, self._lock = threading.Lock(), threading.Lock()
        self._rests_until = -math.inf
        self._abandoned: list[BackgroundTask[str]] = []

    @property
    def has_key(self) -> bool:
        """Whether the environment has a key; the keyring may have one as well."""
        return self._key is not None

    def require_package(self) -> None:
        if find_spec("httpx2") is None:
            raise LlmError(
                "Asking a language model needs the package httpx2",
                hint=install_command("llm"),
            )

    def ask(self, prompt: str, *, most_tokens: int) -> str:
        """The model's answer. Raises `LlmError` within the time limit."""
        self._require_awake()
        started = self._timing.clock()
        self.require_package()
        # Not in the thread: a program that ends during an import may crash.
        from aurora.endpoint_client import Endpoint  # noqa: PLC0415 - it needs httpx2

        task = BackgroundTask(partial(self._request, Endpoint, prompt, most_tokens))
        try:
            return task.result(self._seconds - (self._timing.clock() - started))
        except TimeoutError:
            with self._lock:
                self._abandoned.append(task)
            self._rest()
            problem = (
                f"gave no answer in {self._seconds:g} s, and is not asked again for {REST:g} s"
            )
            hint = "raise `llm.seconds`, or set another `llm.model`"
            raise self._error(problem, hint) from None
        except LlmError:
            if self._timing.clock() - started >= _SLOW:
                self._rest()
            raise

    def _require_awake(self) -> None:
        left = self._rests_until - self._timing.clock()
        if left > 0.0:
            seconds = math.ceil(left)
            raise self._error(f"was too slow a moment ago, and is not asked again for {seconds} s")
        with self._lock:
            self._abandoned = [task for task in self._abandoned if not task.is_done]
            if len(self._abandoned) >= MOST_ABANDONED:
                raise self._error(f"still owes {len(self._abandoned)} answers")

    def _rest(self) -> None:
        self._rests_until = self._timing.clock() + REST

    def _request(self, client: type[Endpoint], prompt: str, most_tokens: int) -> str:
        content = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
            "max_tokens": most_tokens,
        }
        patience = Patience(attempts=2, seconds=self._seconds, silence=self._seconds + _GRACE)
        until = self._timing.clock() + self._seconds + _GRACE
        answer = self._open(client).post(
            write_body(content), limit=_LONGEST_ANSWER, patience=patience, until=until
        )
        try:
            return read_message(answer)
        except BadAnswerError as exc:
            raise self._error(str(exc)) from exc

    def _open(self, client: type[Endpoint]) -> Endpoint:
        with self._opening:
            if self._endpoint is None:
                key = require_key(self._key, self.address)
                self._endpoint = client(self.address, key, self.model, self._timing)
            return self._endpoint

    def _error(self, problem: str, hint: str = "") -> LlmError:
        return LlmError(
            f"The endpoint {self.address.url} ({self.model}) {problem}",
            hint=hint or "check `llm.endpoint` and `llm.model`",
        )


def read_message(answer: bytes) -> str:
    """The text of the first choice. Raises `BadAnswerError`."""
    content = read_answer(answer)
    try:
        message = content["choices"][0]["message"]["content"]  # type: ignore[index]
    except (TypeError, KeyError, IndexError) as exc:
        raise BadAnswerError("answered without a message of the model") from exc
    if message is None or (isinstance(message, str) and not message.strip()):
        raise BadAnswerError("answered with an empty message")
    if not isinstance(message, str):
        raise BadAnswerError("answered with a message that is not text")
    return message
