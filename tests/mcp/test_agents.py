"""What the model sees of Aurora through Claude Code and Codex: approved recordings.

* Claude Code lists the tools, gives the instructions as a message, and shows the structured content
  of an answer without the text beside it. Of an error it shows the text.
* Codex, to its newest models, gives the first 250 characters of the instructions. The model writes
  JavaScript that lists the tools, each with the whole instructions, and that calls them: it sees of
  an answer what it prints, by default all of it.
* Codex, to other models, gives the tools as functions and the instructions as the description of
  their namespace. Of an answer it shows the structured content, of an error the text.

After a change that is meant, `python -m tests.mcp.test_agents` records anew; look at the difference
before you commit it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.builders import write_tree
from tests.cli.conftest import AUR, Shell
from tests.mcp.conftest import FILES, index
from tests.mcp.model_servers import (
    FOLDER,
    Call,
    Seen,
    ask_claude,
    ask_codex,
    ask_codex_functions,
)
from tests.mcp.test_every_tool import TOOLS

pytestmark = [
    pytest.mark.one_store("about clients that are not ours"),
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason=f"{FOLDER} is missing: `make test-full` installs the clients"
    ),
]

GOLDEN = Path(__file__).with_name("golden")
CALLS = (
    Call("aurora_search", {"query": "why are sessions in the database", "limit": 2}),
    Call("aurora_retrieve", {"id": "src/auth.py:revoke_session"}),
    Call("aurora_retrieve", {"id": "nothing"}),
)
CLIENTS: dict[str, Callable[[Shell, Sequence[Call]], Seen]] = {
    "claude-code": ask_claude,
    "codex": ask_codex,
    "codex-functions": ask_codex_functions,
}
CHANGING = {  # from run to run
    r'("(?:generation|age_seconds)":) ?\d+': r"\1 0",
    r'("(?:indexed_at|next_cursor)":) ?"[^"]*"': r'\1 "…"',
    r"\b0\.\d+": "0.…",  # a score
    r"(?<=<<<stored )[0-9a-f]{8}|[0-9a-f]{8}(?= stored>>>)": "…",
    r"(?<=indexed )\d+ s": "0 s",
    r"(?<=cursor=)[\w-]+": "…",
    r"^Wall time: [0-9.…]+ seconds\n": "",
}


def ask(client: str, folder: Path) -> Seen:
    """What a client's model sees in a project that is indexed in this folder."""
    path = f"{AUR.parent}{os.pathsep}{os.environ['PATH']}"
    shell = Shell(write_tree(folder / "shop", FILES), folder / ".aurora", {"PATH": path})
    index(shell)
    return CLIENTS[client](shell, CALLS)


def picture(seen: Seen, folder: Path) -> str:
    """The recording as a text, without what changes from run to run."""
    parts = [("Instructions", seen.instructions)]
    for name, tool in seen.tools.items():
        rest = {key: value for key, value in tool.items() if key != "description"}
        parts.append((f"Tool {name}", f"{tool['description']}\n{_pretty(rest)}"))
    parts += [
        (f"Result of {call.tool} {json.dumps(call.arguments)}", _readable(result))
        for call, result in zip(CALLS, seen.results, strict=True)
    ]
    text = "\n".join(f"# {title}\n\n{words}\n" for title, words in parts)
    text = text.replace(str(folder), "FOLDER")
    for pattern, fixed in CHANGING.items():
        text = re.sub(pattern, fixed, text, flags=re.MULTILINE)
    return text


def _readable(result: str) -> str:
    """JSON in lines; any other text as it is."""
    head, begin, rest = result.partition("{")
    try:
        return head.lstrip("\n") + _pretty(json.loads(begin + rest))
    except ValueError:
        return result


def _pretty(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_the_model_sees_what_is_approved(client: str, tmp_path: Path) -> None:
    """The first request already lists the tools: the clients wait for the server."""
    seen = ask(client, tmp_path)
    assert set(seen.tools) == set(TOOLS)
    golden = (GOLDEN / f"{client}.txt").read_text(encoding="utf-8")
    assert picture(seen, tmp_path) == golden


if __name__ == "__main__":
    for name in CLIENTS:
        with tempfile.TemporaryDirectory() as temporary:
            recorded = picture(ask(name, Path(temporary)), Path(temporary))
            (GOLDEN / f"{name}.txt").write_text(recorded, encoding="utf-8")
