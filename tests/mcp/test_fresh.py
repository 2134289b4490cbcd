"""A server answers from the files as they are now, without being told to index."""

from __future__ import annotations

import pytest

from tests.builders import write_tree
from tests.mcp.conftest import Project, ask, ids

pytestmark = pytest.mark.anyio


async def test_a_server_sees_a_change_between_two_calls(project: Project) -> None:
    async with project.here() as client:
        assert "src/auth.py:revoke_session" in ids(
            await ask(client, "search_code", query="revoke_session")
        )
        (project.root / "src" / "auth.py").rename(project.root / "src" / "login.py")
        write_tree(project.root, {"src/numbat.py": "def wake_numbats():\n    return 1\n"})
        answer = await ask(client, "search_code", query="revoke_session")
        assert "src/login.py:revoke_session" in ids(answer)
        assert "src/auth.py:revoke_session" not in ids(answer)
        got = await ask(client, "aurora_retrieve", id="src/numbat.py:wake_numbats")
        assert got["content"] == "def wake_numbats():\n    return 1"
