"""An endpoint that is slow, busy, broken or wrong. The clock is the tests' own, the server real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from aurora.embeddings.base import ProviderOptions
from aurora.embeddings.openai import OpenAIProvider
from aurora.endpoint_client import wait_before_next
from aurora.endpoints import ASKING, INDEXING
from aurora.errors import EmbeddingError
from tests.embeddings.clock import Clock
from tests.embeddings.openai_server import (
    MODEL,
    EmbeddingServer,
    Exchange,
    Mood,
    changed,
    cuts_off,
    fails,
    is_fine,
    never_ends,
    says,
    unit_vector,
)

HIDDEN = "the text that nobody may see"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider(server: EmbeddingServer, clock: Clock) -> OpenAIProvider:
    options = ProviderOptions(model=MODEL, endpoint=server.url)
    return OpenAIProvider(options, timing=clock.timing)


def failure(provider: OpenAIProvider) -> str:
    """The error's one line: it names the endpoint and the model, and no text."""
    with pytest.raises(EmbeddingError) as caught:
        provider.embed_batch([HIDDEN, "another"])
    error = caught.value
    assert provider._address.url in error.message
    assert MODEL in error.message
    assert error.hint
    assert HIDDEN not in str(error)
    assert "\n" not in error.message
    return error.message


def test_a_request_that_fails_is_tried_again_after_longer_and_longer(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    server.mood = fails(4)
    [vector] = provider.embed_batch(["text"])

    np.testing.assert_allclose(vector, unit_vector("text"), atol=1e-12)
    assert len(server.seen) == 5
    assert clock.slept == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_after_five_tries_it_is_given_up(
    server: EmbeddingServer, provider: OpenAIProvider, status: int
) -> None:
    server.mood = fails(99, status)
    assert f"is busy or failed ({status}, server_error), tried 5 times" in failure(provider)
    assert len(server.seen) == 5


def test_a_server_that_was_given_up_is_tried_once_until_it_answers(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.mood = fails(6)
    failure(provider)
    assert "tried" not in failure(provider)
    assert len(server.seen) == 6

    provider.embed_batch(["it answers"])
    server.seen.clear()
    server.mood = fails(4)
    provider.embed_batch(["tried five times again"])
    assert len(server.seen) == 5


@pytest.mark.parametrize(
    ("asked", "waited"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "0.25"}, 0.25),
        ({"Retry_After": "86400"}, 60.0),
        ({"Retry_After": "soon"}, 0.5),
        ({"Retry_After": "-5"}, 0.5),
        ({"Retry_After": "nan"}, 0.5),
    ],
)
def test_a_server_that_says_how_long_is_waited_for_as_long(
    server: EmbeddingServer,
    provider: OpenAIProvider,
    clock: Clock,
    asked: dict[str, str],
    waited: float,
) -> None:
    server.mood = fails(1, 429, **asked)
    provider.embed_batch(["text"])
    assert clock.slept == [waited]


@pytest.mark.parametrize(
    ("until", "seconds"),
    [
        ("Wed, 21 Oct 2026 07:28:20 GMT", 20.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("Thu, 22 Oct 2026 07:28:00 GMT", 60.0),
        ("Wed, 21 Oct 2026 07:28:20", 0.5),  # of no zone: it cannot be compared
        ("Wed, 99 Oct 2026 07:28:20 GMT", 0.5),
    ],
)
def test_a_date_to_wait_for_is_read_with_the_servers_own_clock(until: str, seconds: float) -> None:
    headers = {"date": "Wed, 21 Oct 2026 07:28:00 GMT", "retry-after": until}
    assert wait_before_next(1, headers, 1.0) == seconds


def test_chance_takes_up_to_half_of_a_wait() -> None:
    assert [wait_before_next(3, {}, chance) for chance in (0.0, 0.5, 1.0)] == [1.0, 1.5, 2.0]
    assert wait_before_next(40, {}, 1.0) == 30.0


def test_a_quota_that_is_spent_is_not_waited_for(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    server.mood = fails(99, 429, code="insufficient_quota")
    assert "(429, insufficient_quota)" in failure(provider)
    assert clock.slept == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "wants a key (401, server_error)"),
        (403, "wants a key (403, server_error)"),
        (404, "has no such model, or is no OpenAI-compatible address (404, server_error)"),
        (402, "refuses to answer (402, server_error)"),
        (307, "points elsewhere (307, server_error)"),
    ],
)
def test_what_will_not_change_is_told_at_once(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock, status: int, words: str
) -> None:
    server.mood = fails(99, status)
    assert failure(provider).endswith(words)
    assert (len(server.seen), clock.slept) == (1, [])


def test_indexing_ends_with_its_deadline_not_with_its_tries(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    def takes_two_minutes(exchange: Exchange) -> None:
        clock.now += 120
        fails(99, 503)(exchange)

    server.mood = takes_two_minutes
    assert "tried 3 times" in failure(provider)  # 120, 240, then 360 s on the clock
    assert clock.slept == [0.5, 1.0]


def test_every_request_of_a_long_batch_has_a_deadline_of_its_own(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    def takes_four_minutes(exchange: Exchange) -> None:
        clock.now += 0.8 * INDEXING.seconds
        is_fine(exchange)

    # The clock jumps while the server has the request: what it says then comes too late for none.
    server.mood = takes_four_minutes
    assert len(provider.embed_batch(["text"] * 200)) == 200
    assert clock.now == 4 * 0.8 * INDEXING.seconds


def test_a_question_is_tried_twice_and_for_ten_seconds_in_all(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    server.mood = fails(99)
    with pytest.raises(EmbeddingError, match="tried 2 times"):
        provider.embed_query("text")
    assert len(server.seen) == 2
    assert clock.now < ASKING.seconds == 10


def test_a_question_does_not_wait_longer_than_its_deadline_for_a_busy_server(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    server.mood = fails(1, 429, Retry_After="11")
    with pytest.raises(EmbeddingError, match="is busy or failed"):
        provider.embed_query("text")
    assert (len(server.seen), clock.slept) == (1, [])


def test_the_halves_of_a_long_question_share_its_deadline(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    def refuses_in_four_seconds(exchange: Exchange) -> None:
        clock.now += 4
        exchange.send({}, 400)

    server.mood = refuses_in_four_seconds
    with pytest.raises(EmbeddingError, match="gave no answer in 10 s"):
        provider.embed_query("x" * 100_000)
    assert [len(batch[0]) for batch in server.batches] == [100_000, 50_000, 25_000]


def test_a_server_that_says_nothing_is_left(server: EmbeddingServer, clock: Clock) -> None:
    clock.step = 9.8  # a look later, 0.2 s of the ten are left, and these are real
    server.mood = server.hangs
    options = ProviderOptions(model=MODEL, endpoint=server.url)
    with pytest.raises(EmbeddingError, match="gave no answer in time"):
        OpenAIProvider(options, timing=clock.timing).embed_query("text")
    assert clock.slept == []


def test_a_server_that_sends_drop_by_drop_is_left(
    server: EmbeddingServer, provider: OpenAIProvider, clock: Clock
) -> None:
    """Each drop comes in time, the whole does not."""
    dropped = []

    def drips(exchange: Exchange) -> None:
        exchange.start(1 << 20)
        while clock.now < 100:
            clock.now += 3
            dropped.append(clock.now)
            exchange.handler.wfile.write(b" ")
            if server.released.wait(0.01):
                break
        server.released.wait(60)

    server.mood = drips
    with pytest.raises(EmbeddingError, match="gave no whole answer in 10 s"):
        provider.embed_query("text")
    assert dropped


def test_an_endless_answer_is_not_read_to_its_end(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.mood = never_ends
    assert "answered with more than 1,638,400 bytes" in failure(provider)  # for two texts
    assert len(server.seen) == 1


def test_an_endless_answer_is_read_for_less_once_the_dimension_is_known(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    provider.embed_query("text")
    server.mood = never_ends
    assert "answered with more than 90,112 bytes" in failure(provider)


def test_an_endless_error_is_an_error(server: EmbeddingServer, provider: OpenAIProvider) -> None:
    def is_endless(exchange: Exchange) -> None:
        exchange.handler.send_response(404)
        exchange.handler.end_headers()
        never_ends(exchange)

    server.mood = is_endless
    assert "has no such model" in failure(provider)


def test_an_answer_that_breaks_off_is_asked_for_again(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.mood = cuts_off(2)
    [vector] = provider.embed_batch(["text"])
    np.testing.assert_allclose(vector, unit_vector("text"), atol=1e-12)
    assert len(server.seen) == 3


def test_an_answer_that_always_breaks_off_is_told(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    server.mood = cuts_off(99)
    assert "broke off (RemoteProtocolError), tried 5 times" in failure(provider)


def test_a_server_that_is_not_there_is_told(clock: Clock) -> None:
    with EmbeddingServer() as gone:
        url = gone.url
    options = ProviderOptions(model=MODEL, endpoint=url)
    provider = OpenAIProvider(options, timing=clock.timing)
    assert "cannot be reached" in failure(provider)
    assert clock.slept == [0.5, 1.0, 2.0, 4.0]


def test_a_server_that_comes_back_is_asked_again(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    """A connection that was kept open and died meanwhile is not a failure."""

    def hangs_up(exchange: Exchange) -> None:
        is_fine(exchange)
        exchange.handler.close_connection = True

    server.mood = hangs_up
    assert [len(provider.embed_query(text)) for text in "abc"] == [256, 256, 256]


def _set(**values: object) -> Callable[[dict[str, Any]], None]:
    """Changes the last vector of an answer."""
    return lambda answer: answer["data"][-1].update(values)


def _put(place: int, value: object) -> Callable[[dict[str, Any]], None]:
    """Changes a number of the last vector."""

    def change(answer: dict[str, Any]) -> None:
        answer["data"][-1]["embedding"][place] = value

    return change


NO_NUMBER = "gave a vector with something that is not a finite number"
UNNUMBERED = "gave vectors that are not numbered from 0, each number once"


@pytest.mark.parametrize(
    ("mood", "words"),
    [
        (says(b""), "answered with something that is not JSON"),
        (says(b"<html>Welcome!</html>"), "answered with something that is not JSON"),
        (says(b"\xff\xfe\x00"), "answered with something that is not JSON"),
        (says(b"[" * 50_000), "answered with something that is not JSON"),
        (says(b"not gzip", Content_Encoding="gzip"), "that cannot be unpacked"),
        (says(b"[]"), "answered without a list of vectors"),
        (says(b'{"data": {"0": 1}}'), "answered without a list of vectors"),
        (says(b'{"data": [1, 2]}'), "answered with a list of something else than vectors"),
        (
            says(b'{"error": {"message": "no", "code": "model_not_found"}}'),
            "an error (model_not_found)",
        ),
        (says(b'{"error": "model_not_found"}'), "an error (model_not_found)"),
        (says(b'{"error": {"code": "another_word"}}'), "answered with an error"),
        (says(f'{{"error": "{HIDDEN}"}}'.encode()), "answered with an error"),
        (changed(lambda answer: answer["data"].pop()), "gave 1 vectors for 2 texts"),
        (changed(lambda answer: answer["data"].append({})), "gave 3 vectors for 2 texts"),
        (changed(_set(index=0)), UNNUMBERED),
        (changed(_set(index=2)), UNNUMBERED),
        (changed(_set(index=-1)), UNNUMBERED),
        (changed(_set(index=None)), UNNUMBERED),
        (changed(_set(index="1")), UNNUMBERED),
        (changed(_set(index=True)), UNNUMBERED),
        (changed(_set(index=[1])), UNNUMBERED),
        (changed(_set(embedding=None)), "gave something that has no vector"),
        (changed(_set(embedding={"0": 1})), "gave something that has no vector"),
        (changed(_set(embedding=[])), "gave a vector without numbers"),
        (changed(_set(embedding="")), "gave a vector without numbers"),
        (changed(_set(embedding=HIDDEN)), "gave a text instead of a vector"),
        (changed(_set(embedding="AAAAAAA=")), "gave a vector that is cut off"),
        (changed(_set(embedding="AADAfwAAwH8=")), NO_NUMBER),
        (changed(_set(embedding=[0.5])), "gave vectors of 1 and of 256 numbers at once"),
        (changed(_put(3, "0.5")), NO_NUMBER),
        (changed(_put(3, None)), NO_NUMBER),
        (changed(_put(3, True)), NO_NUMBER),
        (changed(_put(3, [0.5])), NO_NUMBER),
        (changed(_put(3, float("nan"))), NO_NUMBER),
        (changed(_put(3, float("inf"))), NO_NUMBER),
        (changed(_put(3, 10**400)), NO_NUMBER),
        (says(b'{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}'), NO_NUMBER),
    ],
)
def test_an_answer_without_vectors_is_told_in_a_line(
    server: EmbeddingServer, provider: OpenAIProvider, mood: Mood, words: str
) -> None:
    server.mood = mood
    assert failure(provider).endswith(words)
    assert len(server.seen) == 1


def test_vectors_of_another_dimension_than_before_are_refused(
    server: EmbeddingServer, provider: OpenAIProvider
) -> None:
    provider.embed_query("text")
    server.mood = says(b'{"data": [{"embedding": [3, 4]}, {"embedding": [3, 4]}]}')
    assert "gave a vector of 2 numbers, after 256" in failure(provider)
    assert provider.dimension == 256


@pytest.mark.parametrize("size", ["1e-200", "1", "1e200"])
def test_numbers_of_any_size_become_length_1(
    server: EmbeddingServer, provider: OpenAIProvider, size: str
) -> None:
    server.mood = says(f'{{"data": [{{"embedding": [{size}, 0, -{size}]}}]}}'.encode())
    np.testing.assert_allclose(provider.embed_query("text"), [0.5**0.5, 0, -(0.5**0.5)])


def test_a_vector_of_zeros_stays_one(server: EmbeddingServer, provider: OpenAIProvider) -> None:
    """A model may know no word of a text; the search says so itself."""
    server.mood = says(b'{"data": [{"embedding": [0, 0.0, -0.0]}]}')
    assert provider.embed_query("text") == [0, 0, 0]
