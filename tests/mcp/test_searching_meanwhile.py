"""An agent searches while `aur index` runs in another process."""

from __future__ import annotations

import pytest

from tests.backends import in_a_file
from tests.builders import write_tree
from tests.mcp.conftest import Project, ask, ids

pytestmark = pytest.mark.anyio

STEPS = "\n".join(f"def step_{n}(one, two):\n    return one + two\n" for n in range(400))


@pytest.mark.long
@in_a_file
async def test_every_answer_says_what_is_ready(project: Project) -> None:
    project.shell.environ["AURORA_INDEX_AUTO"] = "false"  # or the first search reads some files
    write_tree(project.root, {f"src/part{n}.py": f"# {n}\n{STEPS}" for n in range(8)})
    async with project.over_stdio() as client:

        async def search() -> list[str]:
            answer = await ask(client, "aurora_search", query="authenticate_user")
            assert ids(answer)[0] == "src/auth.py:authenticate_user"
            notes: list[str] = answer.get("notes", [])
            return notes

        run = project.shell.start("mem", "index", ".", "--no-git")
        during = []
        while run.poll() is None:
            during.append(await search())
        run.communicate()
        assert await search() == []
    assert len(during) > 3  # nobody waits until the end
    notes = {note for found in during for note in found}
    assert any(note.startswith("indexing: ") and "files ready" in note for note in notes), notes
    assert not [note for note in notes if not note.startswith("indexing: ")], notes
