"""docs/guide/sessions.md: its table has every agent, and its example is a reader that works."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from aurora.sources.sessions.base import SessionReader
from aurora.sources.sessions.readers import OURS

PAGE = (Path(__file__).parents[2] / "docs/guide/sessions.md").read_text(encoding="utf-8")


def test_every_agent_is_in_the_table() -> None:
    assert set(re.findall(r"^\| [^|]+ \| `([a-z-]+)` \|", PAGE, re.MULTILINE)) == set(OURS)


def test_the_example_of_a_reader_works(tmp_path: Path) -> None:
    (source,) = re.findall(r"^    from aurora\.sources.*?(?=\n\S)", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, type[SessionReader]] = {}
    exec(dedent(source), names)  # noqa: S102 - the example of the page
    path = tmp_path / ".parrot/s1.jsonl"
    path.parent.mkdir()
    path.write_text(
        '{"role":"user","id":"1","text":"Hello?"}\n{"role":"bird","id":"2","text":"Hello!"}\n',
        encoding="utf-8",
    )
    parrot = names["Parrot"]()

    ((exchange,),) = [list(parrot.read(found)) for found in parrot.locate(tmp_path, {})]  # type: ignore[arg-type]

    assert (exchange.id, exchange.asked, exchange.answered) == ("parrot:1", "Hello?", "Hello!")
