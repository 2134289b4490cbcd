"""Processes that are killed while they change a memory, and what must be true of it then."""

import pytest

# What they find wrong is told as a test's own asserts tell it.
pytest.register_assert_rewrite("tests.crash.checking", "tests.crash.trying")
