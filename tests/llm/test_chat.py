"""One message to a model behind a real server: what is sent, what comes back, and when it ends."""

from __future__ import annotations

import logging
import sys
import traceback

import pytest

from aurora.errors import LlmError
from aurora.llm.chat import DEFAULT_MODEL, MOST_ABANDONED, REST, Chat, ChatOptions
from tests.embeddings.clock import Clock
from tests.endpoint_server import Mood, changed, cuts_off, fails, is_fine, never_ends, says
from tests.llm.chat_server import MODEL, TERMS, ChatServer, deaf_port, tells

KEY = "sk-hunter2-4242"
HIDDEN = "the question that nobody may see"


def make(server: ChatServer | str, clock: Clock | None = None, **options: object) -> Chat:
    """It waits long: on a busy machine the default of five seconds may pass before an answer."""
    url = server if isinstance(server, str) else server.url
    given = {"endpoint": url, "model": MODEL, "seconds": 40.0, **options}
    return Chat(ChatOptions(**given), timing=clock.timing if clock else None)  # type: ignore[arg-type]


def failure(chat: Chat) -> str:
    """The error's one line: it names the endpoint and the model, and not what was said."""
    with pytest.raises(LlmError) as caught:
        chat.ask(HIDDEN, most_tokens=9)
    error = caught.value
    assert chat.address.url in error.message
    assert chat.model in error.message
    assert error.hint
    assert HIDDEN not in str(error)
    assert "\n" not in error.message
    return error.message


def test_a_message_is_sent_as_the_protocol_says_and_answered(server: ChatServer) -> None:
    assert make(server, api_key=KEY).ask("Name words.", most_tokens=9) == TERMS
    [seen] = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Name words."}],
        "temperature": 0,
        "max_tokens": 9,
    }


def test_the_address_may_be_that_of_the_protocol_itself(server: ChatServer) -> None:
    assert make(f"{server.url}/chat/completions/").ask("?", most_tokens=9) == TERMS


def test_without_settings_it_is_openais_small_model() -> None:
    chat = Chat(ChatOptions())
    assert (chat.address.url, chat.model) == ("https://api.openai.com/v1", DEFAULT_MODEL)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_fails_for_the_moment_is_tried_once_more(
    server: ChatServer, clock: Clock, status: int
) -> None:
    server.mood = fails(1, status)
    assert make(server, clock).ask("?", most_tokens=9) == TERMS
    server.seen.clear()
    server.mood = fails(99, status)
    assert "is busy or failed" in failure(make(server, clock))
    assert len(server.seen) == 2


def test_a_busy_server_is_waited_for_only_while_there_is_time(
    server: ChatServer, clock: Clock
) -> None:
    server.mood = fails(1, 429, Retry_After="60")
    assert "(429, server_error)" in failure(make(server, clock))
    assert (len(server.seen), clock.slept) == (1, [])


@pytest.mark.parametrize(
    ("mood", "words"),
    [
        (says(b""), "answered with something that is not JSON"),
        (says(b'{"choices": [{"mess'), "answered with something that is not JSON"),
        (says(b"<html>", Content_Type="text/html"), "answered with something that is not JSON"),
        (says(b"[" * 50_000), "answered with something that is not JSON"),
        (says(b"[]"), "answered without a message of the model"),
        (says(b'"text"'), "answered without a message of the model"),
        (says(b"{}"), "answered without a message of the model"),
        (says(b'{"choices": []}'), "answered without a message of the model"),
        (says(b'{"choices": {"0": 1}}'), "answered without a message of the model"),
        (says(b'{"choices": [{"text": "old"}]}'), "answered without a message of the model"),
        (changed(lambda good: good["choices"][0].update(message="x")), "of the model"),
        (tells(None), "answered with an empty message"),
        (tells(" \n"), "answered with an empty message"),
        (tells(7), "answered with a message that is not text"),
        (tells([{"type": "text", "text": "a, b"}]), "answered with a message that is not text"),
        (says(b'{"error": {"code": "model_not_found"}}'), "an error (model_not_found)"),
        (says(f'{{"error": "{HIDDEN}"}}'.encode()), "answered with an error"),
        (never_ends, "answered with more than 65,536 bytes"),
        (fails(99, 401), "wants a key (401, server_error)"),
        (fails(99, 404), "is no OpenAI-compatible address (404, server_error)"),
        (cuts_off(99), "broke off (RemoteProtocolError), tried 2 times"),
    ],
)
def test_an_answer_without_a_message_is_told_in_a_line(
    server: ChatServer, clock: Clock, mood: Mood, words: str
) -> None:
    server.mood = mood
    assert failure(make(server, clock)).endswith(words)


def test_hints_name_the_settings_and_the_variable_of_language_models(server: ChatServer) -> None:
    server.mood = fails(99, 401)
    with pytest.raises(LlmError) as caught:
        make(server).ask("?", most_tokens=9)
    assert "AURORA_LLM_API_KEY" in caught.value.hint
    server.mood = fails(99, 400)
    with pytest.raises(LlmError, match="refuses what parrot should answer") as caught:
        make(server).ask("?", most_tokens=9)
    assert "`llm.model`" in caught.value.hint
    with pytest.raises(LlmError) as caught:
        make("http://user:pass@example.com/v1")
    assert "`llm.endpoint`" in caught.value.hint
    assert "pass" not in caught.value.message.replace("password", "")


@pytest.mark.parametrize("mood", ["hangs", "hangs_after_headers", "drips"])
def test_a_server_that_gives_no_answer_is_left_in_time(server: ChatServer, mood: str) -> None:
    """However it does so; and it is said how long it is left alone."""
    server.mood = getattr(server, mood)
    told = failure(make(server, seconds=0.2))
    assert told.endswith("gave no answer in 0.2 s, and is not asked again for 30 s")


def test_somebody_who_never_accepts_is_left_in_time() -> None:
    with deaf_port() as url:
        assert "gave no answer in 0.2 s" in failure(make(url, seconds=0.2))


def test_a_model_that_let_us_wait_is_not_asked_again_for_a_while(
    server: ChatServer, clock: Clock
) -> None:
    chat = make(server, clock, seconds=0.2)
    server.mood = server.drips
    failure(chat)
    assert server.has_come()
    server.mood = is_fine
    server.seen.clear()
    clock.now += REST - 10
    told = "was too slow a moment ago, and is not asked again for 10 s"
    assert failure(chat).endswith(told)
    assert server.seen == []
    clock.now += 10
    assert chat.ask("?", most_tokens=9) == TERMS


def test_a_failure_that_took_long_is_one_that_let_us_wait(server: ChatServer, clock: Clock) -> None:
    """Otherwise every search would wait as long, and find out the same."""

    def fails_late(exchange: object) -> None:
        clock.now += 2.0
        fails(99, 404)(exchange)  # type: ignore[arg-type]

    chat = make(server, clock)
    server.mood = fails_late
    assert "(404, server_error)" in failure(chat)
    assert "is not asked again for 30 s" in failure(chat)
    assert len(server.seen) == 1


def test_a_failure_that_is_quick_is_no_reason_to_wait(server: ChatServer, clock: Clock) -> None:
    chat = make(server, clock)
    server.mood = fails(1, 404)
    failure(chat)
    assert chat.ask("?", most_tokens=9) == TERMS


def test_few_threads_are_left_with_a_server_that_never_answers(
    server: ChatServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aurora.llm.chat._GRACE", 60.0)  # a busy server may drip more rarely
    server.mood = server.drips
    chat = make(server, clock, seconds=0.1)
    for _ in range(MOST_ABANDONED):
        assert "gave no answer" in failure(chat)
        assert server.has_come()
        clock.now += REST
    assert f"still owes {MOST_ABANDONED} answers" in failure(chat)
    assert len(server.seen) == MOST_ABANDONED


@pytest.mark.parametrize(
    "mood",
    [
        is_fine, fails(99), fails(99, 401), fails(99, 403, code=KEY), cuts_off(99), tells(None),
        says(KEY.encode()), says(f'{{"error": {{"message": "{KEY} {HIDDEN}"}}}}'.encode()),
    ],
)  # fmt: skip
def test_key_and_question_are_in_no_log_error_or_repr(
    server: ChatServer, clock: Clock, caplog: pytest.LogCaptureFixture, mood: Mood
) -> None:
    server.mood = mood
    chat = make(server, clock, api_key=KEY)
    shown = [repr(chat), repr(vars(chat)), repr(ChatOptions(api_key=KEY))]
    with caplog.at_level(logging.DEBUG):
        try:
            chat.ask(HIDDEN, most_tokens=9)
        except LlmError as exc:
            shown += [str(exc), repr(exc), "".join(traceback.format_exception(exc))]
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert [record for record in caplog.records if record.levelno == logging.DEBUG]
    for text in (*shown, caplog.text):
        assert "hunter2" not in text
        assert HIDDEN not in text


@pytest.mark.parametrize(
    ("name", "value"), [("HTTPS_PROXY", "gopher://u:hunter2@x"), ("SSL_CERT_FILE", "/not/there")]
)
def test_a_wrong_environment_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    told = failure(make("https://127.0.0.1:9/v1"))
    assert "cannot be asked from here" in told
    assert "hunter2" not in told


def test_a_missing_package_is_named_with_how_to_get_it(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)  # as if it were not installed
    with pytest.raises(LlmError, match="needs the package httpx2") as caught:
        make(server).ask("?", most_tokens=9)
    assert caught.value.hint == "pip install 'aurora-memory[llm]'"


def test_the_official_client_understands_the_server(server: ChatServer) -> None:
    """An oracle: what the tests talk with is what the protocol means."""
    openai = pytest.importorskip("openai", reason="the official client is not installed")
    with openai.OpenAI(base_url=server.url, api_key="none") as client:
        answer = client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "?"}]
        )
    assert answer.choices[0].message.content == TERMS
