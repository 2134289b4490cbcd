"""Every MCP tool with its own parameters and values that fit, nearly fit, or do not fit at all:
more of these come as far as the memory than bytes ever do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets.tools import TOOLS, check, parameters
from tests.properties import examples

TEXTS = (
    "", " ", "\0", "a\0b", "..", "../x", "/", "/etc/passwd", "~", "*", "**", "[", "[!", "a" * 600,
    "src", "src/auth.py", "src/auth.py:check_login", "docs/plan.md:Plan > Sessions", "namespace:",
    "namespace:team", "team", "shop", "plan", "sessions", '"keep sessions"', "-sessions", "type:",
    "since:9999999d", "%", "_", "'; DROP TABLE chunks; --", "\u2028", "用户", "\ufeff", "7d", "{",
    "2026-01-31", "0001-01-01", "9999-12-31T23:59:59-12:00", "python", "function", "agreed",
    "1e999", "NEAR(", "a AND", "WzEsMCwiYSJd", "WzFlOTk5LDAsImEiXQ",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 100, 101, 200, 0.5, -0.0, 1e-320, 1e308, 2**31, 2**63, -(2**63) - 1, 10**30)

texts = st.sampled_from(TEXTS) | st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.none() | st.booleans() | st.sampled_from(NUMBERS) | texts
values = scalars | st.recursive(
    scalars, lambda one: st.lists(one, max_size=3) | st.dictionaries(texts, one, max_size=3)
)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_answers_or_refuses_whatever_it_is_given(tool: str) -> None:
    known = parameters(tool)
    names = st.sampled_from([*known, "unknown"])
    required = {name: texts for name, must in known.items() if must}

    @settings(max_examples=examples(100), deadline=None, derandomize=True, database=None)
    @given(st.fixed_dictionaries(required), st.dictionaries(names, values, max_size=4))
    def answered(needed: dict[str, object], others: dict[str, object]) -> None:
        arguments = {**needed, **others}
        if tool == "aurora_index":
            arguments["wait_seconds"] = 0  # what it answers then is the same
        check(f"{tool}\n{json.dumps(arguments, ensure_ascii=False)}".encode())

    answered()
