"""Trying again, later and later."""

import time


def retry(call, attempts=4, delay=0.5, on=(OSError,), sleep=time.sleep):
    """The first success; after the last attempt, its exception."""
    for attempt in range(attempts):
        try:
            return call()
        except on:
            if attempt == attempts - 1:
                raise
            sleep(delay * 2**attempt)
