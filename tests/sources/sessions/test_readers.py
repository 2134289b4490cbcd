"""Each agent's transcripts are found where they lie, and give what was asked, said and done."""

from __future__ import annotations

import shutil
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aurora.errors import SourceError
from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import Exchange, Session, ToolKind, ToolUse
from aurora.sources.sessions.memories import MemoryFile, locate_memories
from aurora.sources.sessions.readers import OURS, agent_names, make_reader
from tests.sources.sessions.samples import (
    CLAUDE,
    CODEX,
    HERE,
    Sample,
    claude_sample,
    codex_sample,
    gemini_sample,
    ids,
    make_home,
    read,
)


def at(day: int, hour: int, minute: int = 0, second: float = 0) -> datetime:
    whole, part = int(second), round(second % 1 * 1_000_000)
    return datetime(2026, 3, day, hour, minute, whole, part, tzinfo=UTC)


# Claude Code


def test_claude_code_tells_what_was_asked_answered_and_done() -> None:
    exchanges, reading = read(claude_sample(), "claude-code")

    assert exchanges[0] == Exchange(
        id="claude-code:u-1",
        agent="claude-code",
        session=CLAUDE,
        seq=1,
        asked="Why does the basket round twice?\nUse Decimal instead of float.",
        answered="I look at the code first.\n\n"
        "Each row was rounded before the sum. We decided to round only the total.",
        time=at(2, 9, 0, 5),
        model="claude-opus-5",
        branch="main",
        cwd="/code/shop",
        tools=(
            ToolUse(
                id="toolu_1",
                name="Read",
                kind=ToolKind.READ,
                input="/code/shop/prices.py",
                outcome="1\tdef total(rows):\n"
                "2\t    return round(sum(round(row.price, 2) for row in rows), 2)",
                files=("/code/shop/prices.py",),
            ),
            ToolUse(
                id="toolu_2",
                name="Bash",
                kind=ToolKind.COMMAND,
                input="pytest -q tests/test_prices.py",
                outcome="Exit code 1\nE   AssertionError: assert 10.01 == 10.0\n1 failed in 0.12s",
                failed=True,
                exit_status=1,
            ),
            ToolUse(
                id="toolu_3",
                name="Edit",
                kind=ToolKind.EDIT,
                input="/code/shop/prices.py\n- round(row.price, 2)\n+ row.price",
                outcome="The file /code/shop/prices.py has been updated.",
                files=("/code/shop/prices.py",),
            ),
            ToolUse(
                id="toolu_4",
                name="Bash",
                kind=ToolKind.COMMAND,
                input="pytest -q tests/test_prices.py",
                outcome="1 passed in 0.11s",
            ),
        ),
    )
    assert reading.sessions[CLAUDE] == Session(
        agent="claude-code",
        id=CLAUDE,
        path=claude_sample(),
        title="Rounding in the basket",
        project="/code/shop",
        branch="fix-rounding",
        model="claude-opus-5",
        started=at(2, 9),
        ended=at(2, 9, 3, 8),
    )


def test_what_claude_code_wrote_itself_is_no_question() -> None:
    """Wrappers, caveats, /clear, notifications, interruptions and errors of the API."""
    exchanges, reading = read(claude_sample(), "claude-code")

    assert [exchange.asked.partition("\n")[0] for exchange in exchanges] == [
        "Why does the basket round twice?", "", "/review prices.py",
    ]  # fmt: skip
    assert [exchange.is_summary for exchange in exchanges] == [False, True, False]
    assert exchanges[2].branch == "fix-rounding"
    assert reading.skipped == {
        "repeated": 1,
        "of a sub-agent, in the file of its session": 1,
        "unknown record type 'a-new-type'": 1,
    }


def test_a_title_of_the_user_is_the_title_from_the_first_exchange_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    custom = b'{"type":"custom-title","sessionId":"s","customTitle":"Baskets"}\n'
    path.write_bytes(claude_sample().read_bytes() + b'{"ai-title": torn\n' + custom)
    reading = make_reader("claude-code").read(path)

    next(iter(reading))

    assert reading.sessions["s"].title == "Baskets"


def test_a_secret_in_a_title_is_redacted_also_in_the_offset(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path = tmp_path / "s.jsonl"
    record = '{{"type":"user","uuid":"{}","message":{{"content":"Use {}"}}}}\n'
    path.write_text(record.format("a", token) + record.format("b", "it"), encoding="utf-8")

    _, reading = read(path, "claude-code")

    assert reading.sessions["s"].title.startswith("Use [")
    assert reading.offset is not None
    assert token not in str(reading.offset)


def test_a_sub_agent_is_a_session_with_a_parent() -> None:
    path = claude_sample().with_suffix("") / "subagents/agent-a1b2c3.jsonl"

    exchanges, reading = read(path, "claude-code")

    assert [exchange.answered for exchange in exchanges] == [
        "It is called in basket.py and invoice.py."
    ]
    session = reading.sessions["agent-a1b2c3"]
    assert (session.parent, session.title) == (CLAUDE, "Find callers of total")


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ('{"stdout":"ok","interrupted":false}', 0),
        ('{"stdout":"","interrupted":true}', None),
        ('{"stdout":"","backgroundTaskId":"b1"}', None),
        ('{"stdout":"","returnCodeInterpretation":"No matches found"}', None),
        ('{"type":"text"}', None),
    ],
)
def test_a_command_of_claude_code_that_is_no_error_ended_with_0(
    tmp_path: Path, result: str, status: int | None
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(
        '{"type":"assistant","uuid":"a","message":{"content":[{"type":"tool_use","id":"t",'
        '"name":"Bash","input":{"command":"make"}}]}}\n'
        '{"type":"user","uuid":"b","message":{"content":[{"type":"tool_result","tool_use_id":"t",'
        f'"is_error":false,"content":"ok"}}]}},"toolUseResult":{result}}}\n',
        encoding="utf-8",
    )

    ((exchange,), _) = read(path, "claude-code")

    assert exchange.tools[0].exit_status == status


def test_a_resumed_session_has_the_ids_of_the_one_that_it_repeats(tmp_path: Path) -> None:
    resumed = tmp_path / "resumed.jsonl"
    shutil.copy(claude_sample(), resumed)

    assert ids(read(resumed, "claude-code")[0]) == ids(read(claude_sample(), "claude-code")[0])


# Codex


def test_codex_tells_each_message_once_though_it_writes_most_of_them_twice() -> None:
    exchanges, reading = read(codex_sample(), "codex")

    assert exchanges[0] == Exchange(
        id="codex:msg_u1",
        agent="codex",
        session=CODEX,
        seq=1,
        asked="The invoice number is missing on page 2.",
        answered="I read the template.\n\nThe footer has the number on every page now.",
        time=at(2, 10, 0, 1.2),
        model="gpt-6-codex",
        branch="main",
        commit="9fceb02d0ae598e95dc970b74767f19372d61af8",
        cwd="/code/shop",
        tools=(
            ToolUse(
                id="call_1",
                name="exec_command",
                kind=ToolKind.COMMAND,
                input="rg -n invoice_number templates",
                failed=True,
                exit_status=1,
            ),
            ToolUse(
                id="call_2",
                name="apply_patch",
                kind=ToolKind.EDIT,
                input="*** Begin Patch\n*** Update File: templates/invoice.html\n@@\n-<footer>\n"
                "+<footer>{{ invoice_number }}\n*** End Patch",
                outcome="Success. Updated the following files:\nM templates/invoice.html",
                exit_status=0,
                files=("templates/invoice.html", "/code/shop/templates/invoice.html"),
            ),
        ),
    )
    assert exchanges[1].is_summary
    assert (exchanges[2].asked, exchanges[2].cwd) == ("Document it.", "/code/shop/docs")
    assert exchanges[2].model == "gpt-6-codex-mini"
    session = reading.sessions[CODEX]
    assert (session.title, session.project) == ("Invoice footer", "/code/shop")
    assert reading.skipped == {"unknown record type 'a_new_type'": 1}


def test_a_rollout_of_events_only_tells_the_same() -> None:
    (path,) = (HERE / "home/.codex/archived_sessions").iterdir()

    exchanges, _ = read(path, "codex", thinking=True)

    told = [(exchange.asked, exchange.answered, exchange.thinking) for exchange in exchanges]
    assert told == [
        ("Add a currency field.", "Added `currency` to the table.", "A new column."),
        ("Now the migration.", "Wrote the migration.", ""),
    ]


def test_the_newest_rollouts_tell_questions_and_commands_as_items() -> None:
    (path,) = (HERE / "home/.codex/sessions").rglob("rollout-2026-09-02*")

    exchanges, reading = read(path, "codex")

    told = [(exchange.id, exchange.asked, exchange.answered) for exchange in exchanges]
    assert told == [
        ("codex:item-1", "Does it build?", "Now it does."), ("codex:item-3", "Thanks", ""),
    ]  # fmt: skip
    uses = [
        (use.id, use.kind.value, use.input, use.outcome, use.failed) for use in exchanges[0].tools
    ]
    assert uses == [
        ("call_js", "other", "await tools.exec_command({cmd: 'make'})", "Script completed", False),
        ("exec-1", "command", "make", "no rule", True),
        ("patch-1", "edit", "*** Update File: /code/shop/Makefile\nall:", "", False),
    ]
    assert exchanges[0].edited == ("/code/shop/Makefile",)
    assert reading.skipped == {}


def test_the_oldest_rollouts_have_items_without_a_wrapper() -> None:
    (path,) = (HERE / "home/.codex/sessions").rglob("rollout-2025-06-01*")

    ((exchange,), reading) = read(path, "codex")

    assert (exchange.asked, exchange.answered) == ("Rename the shop.", "There is no name.txt.")
    assert exchange.branch == "old"
    assert exchange.tools == (
        ToolUse(
            id="call_old",
            name="shell",
            kind=ToolKind.COMMAND,
            input="sed -i s/Shop/Store/ name.txt",
            outcome="sed: no such file",
            failed=True,
            exit_status=2,
        ),
    )
    assert reading.skipped == {}


def test_a_packed_rollout_gives_the_same_exchanges(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    packed = tmp_path / f"{codex_sample().name}.zst"
    packed.write_bytes(zstd.compress(codex_sample().read_bytes()))

    exchanges, reading = read(packed, "codex")

    assert exchanges == read(codex_sample(), "codex")[0]
    assert reading.offset is None


def test_a_damaged_packed_rollout_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    torn, noise = tmp_path / "rollout-a.jsonl.zst", tmp_path / "rollout-b.jsonl.zst"
    torn.write_bytes(zstd.compress(codex_sample().read_bytes())[:-40])
    noise.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(200)))

    assert read(torn, "codex")[1].skipped["damaged compression"] == 1
    assert read(noise, "codex")[1].skipped == {"damaged compression": 1}


def test_without_a_decompressor_a_packed_rollout_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "rollout-a.jsonl.zst"
    packed.write_bytes(b"x")
    monkeypatch.setattr("aurora.sources.sessions.jsonl._DECOMPRESSORS", ("no.such.package",))

    exchanges, reading = read(packed, "codex")

    assert exchanges == []
    (reason,) = reading.skipped
    assert "pip install 'aurora-memory[sessions]'" in reason


@pytest.mark.parametrize(
    "outcome",
    [
        "apply_patch verification failed: Failed to find expected lines in a.py",
        "unsupported custom tool call: apply_patch",
        "patch rejected by user",
    ],
)
def test_a_patch_that_codex_refused_edited_nothing(tmp_path: Path, outcome: str) -> None:
    rollout = tmp_path / "rollout-2026-03-02T10-00-00-x.jsonl"
    rollout.write_text(
        '{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c","name":'
        '"apply_patch","input":"*** Begin Patch\\n*** Update File: a.py\\n*** End Patch"}}\n'
        '{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c",'
        f'"output":"{outcome}"}}}}\n',
        encoding="utf-8",
    )

    ((exchange,), _) = read(rollout, "codex")

    assert exchange.tools[0].failed
    assert exchange.edited == ()


def test_what_a_sub_agent_inherited_is_not_its_own(tmp_path: Path) -> None:
    rollout = tmp_path / "rollout-2026-03-02T10-00-00-child.jsonl"
    rollout.write_text(
        '{"ordinal":0,"type":"session_meta","payload":{"id":"child","parent_thread_id":"mother",'
        '"subagent_history_start_ordinal":2}}\n'
        '{"ordinal":1,"type":"response_item","payload":{"type":"message","role":"user",'
        '"content":[{"type":"input_text","text":"of the parent"}]}}\n'
        '{"ordinal":2,"type":"response_item","payload":{"type":"message","role":"user",'
        '"content":[{"type":"input_text","text":"of the child"}]}}\n',
        encoding="utf-8",
    )

    ((exchange,), reading) = read(rollout, "codex")

    assert exchange.asked == "of the child"
    assert reading.sessions["child"].parent == "mother"
    assert reading.skipped == {"inherited from another session": 1}


# Gemini CLI


def test_gemini_cli_tells_what_holds_in_the_end() -> None:
    """A message told twice counts once, and what the user took back not at all."""
    exchanges, reading = read(gemini_sample(), "gemini-cli")

    assert [(exchange.asked, exchange.answered) for exchange in exchanges] == [
        ("Explain @basket.py", "I run the tests.\n\nA basket holds rows."),
        ("Add a method clear()", "Added."),
    ]
    assert exchanges[0].tools == (
        ToolUse(
            id="run-1",
            name="run_shell_command",
            kind=ToolKind.COMMAND,
            input="make test",
            outcome="Output: all tests passed\nExit Code: 0",
            exit_status=0,
        ),
        ToolUse(
            id="run-2",
            name="replace",
            kind=ToolKind.EDIT,
            input="/code/shop/basket.py\n- ...\n+ pass",
            outcome="0 occurrences found",
            failed=True,
            files=("/code/shop/basket.py",),
        ),
    )
    assert exchanges[0].edited == ()  # the edit failed
    (session,) = reading.sessions.values()
    assert (session.project, session.title) == ("/code/shop", "What a basket is")
    assert reading.skipped == {"taken back by the user": 2}


def test_gemini_cli_may_set_all_messages_anew(tmp_path: Path) -> None:
    path = tmp_path / "session-x.jsonl"
    path.write_text(
        gemini_sample().read_text(encoding="utf-8")
        + '{"$set":{"messages":[{"id":"n-1","type":"user","content":"Only this"}]}}\n',
        encoding="utf-8",
    )

    assert [exchange.asked for exchange in read(path, "gemini-cli")[0]] == ["Only this"]


def test_an_older_gemini_session_is_one_json_value() -> None:
    (path,) = (HERE / "home/.gemini/tmp/3d9e/chats").iterdir()

    ((exchange,), _) = read(path, "gemini-cli")

    assert (exchange.asked, exchange.answered) == ("What is a voucher?", "A discount with a code.")


# Cursor


def test_a_transcript_of_cursor_has_ids_though_its_records_have_none() -> None:
    folder = HERE / "home/.cursor/projects/code-shop/agent-transcripts"
    name = "c0ffee00-0000-4000-8000-000000000001"

    exchanges, reading = read(folder / name / f"{name}.jsonl", "cursor")

    assert [exchange.asked for exchange in exchanges] == [
        "Make the voucher code case-insensitive", "continue", "continue",
    ]  # fmt: skip
    assert len(set(ids(exchanges))) == 3
    assert exchanges[0].edited == ("/code/shop/voucher.py",)
    assert reading.sessions[name].ended is not None


def test_the_chats_of_the_editor_are_read_without_writing(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    database = home / ".config/Cursor/User/globalStorage/state.vscdb"
    before = database.read_bytes()

    exchanges, reading = read(database, "cursor")

    assert [(exchange.id, exchange.asked, exchange.answered) for exchange in exchanges] == [
        ("cursor:b-1", "Sort the baskets by date", "They are sorted now."),
        ("cursor:o-1", "Hello?", "Hello."),
    ]
    assert exchanges[0].tools == (
        ToolUse(
            id="t-1",
            name="run_terminal_cmd",
            kind=ToolKind.COMMAND,
            input="ls baskets",
            outcome="a.json\nb.json",
            exit_status=0,
        ),
    )
    assert reading.sessions["comp-1"].title == "Sort the baskets"
    assert reading.skipped == {"a message that is gone": 2, "not an object": 1, "not JSON": 1}
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == ["state.vscdb"]


def test_chats_that_did_not_change_are_not_read_again(tmp_path: Path) -> None:
    sample = Sample("cursor", make_home(tmp_path) / ".config/Cursor/User/globalStorage/state.vscdb")

    _, first = read(sample)
    exchanges, _ = read(sample, since=first.offset)

    assert ids(exchanges) == ["cursor:b-1"]  # the newest, which may have changed since


# Aider


def test_the_history_of_aider_is_cut_at_its_marks_but_not_inside_a_code_block() -> None:
    exchanges, reading = read(HERE / "project/.aider.chat.history.md", "aider")

    assert [exchange.asked for exchange in exchanges] == [
        "Count the stock\nby warehouse", "Fix it", "Hello",
    ]  # fmt: skip
    assert "#### this is a comment\n> and this a doctest" in exchanges[0].answered
    assert exchanges[0].edited == ("stock.py",)
    assert exchanges[0].commit == "1a2b3c4"
    assert exchanges[0].tools[1].input == "pytest -q"
    assert exchanges[0].tools[1].outcome == "1 failed\nerror: no warehouse"
    assert [session.title for session in reading.sessions.values()] == ["Count the stock", "Hello"]


# OpenCode


def test_the_database_of_opencode_has_both_of_its_layouts(tmp_path: Path) -> None:
    """Also for one session that began in version 1 and goes on in version 2."""
    database = make_home(tmp_path) / ".local/share/opencode/opencode.db"

    exchanges, reading = read(database, "opencode")

    assert [(exchange.asked, exchange.answered) for exchange in exchanges] == [
        ("Ship for free above 50", "Free above 50, but a test fails."),
        ("Go on", ""),
        ("Which test fails?", "test_shipping."),
        ("", "A shipping test fails."),
    ]
    assert [(use.id, use.failed, use.exit_status) for use in exchanges[0].tools] == [
        ("call_1", False, None), ("call_2", True, 2),
    ]  # fmt: skip
    assert exchanges[2].tools[0].outcome == "no pytest"
    assert exchanges[2].tools[0].exit_status == 127
    assert exchanges[3].is_summary
    child = reading.sessions["ses_2"]
    assert (child.parent, child.title) == ("ses_1", "Which test fails?")


def test_older_sessions_of_opencode_are_files() -> None:
    path = HERE / "home/.local/share/opencode/storage/session/p0/ses_0.json"

    ((exchange,), reading) = read(path, "opencode")

    assert (exchange.asked, exchange.answered) == ("Sell gift cards", "They are a product now.")
    assert reading.sessions["ses_0"].title == "Gift cards"


# Copilot CLI


def test_copilot_cli_tells_a_call_once_though_it_is_asked_for_and_begun() -> None:
    (path,) = (HERE / "home/.copilot").rglob("events.jsonl")

    ((exchange,), reading) = read(path, "copilot-cli")

    assert (exchange.asked, exchange.answered, exchange.model) == (
        "Why is the queue full?", "No worker takes jobs from it.", "gpt-6-mini",
    )  # fmt: skip
    assert [(use.input, use.failed, use.exit_status) for use in exchange.tools] == [
        ("redis-cli llen jobs", False, 0), ("/code/shop/worker.py", True, None),
        ("ps -C worker", True, 1),  # of a sub-agent
    ]  # fmt: skip
    session = reading.sessions[exchange.session]
    assert (session.branch, session.title) == ("main", "A full queue")
    assert reading.skipped == {"unknown record type 'novelty.event'": 1}


# Copilot Chat


def test_an_older_chat_of_vs_code_is_one_json_value() -> None:
    ((exchange,), reading) = read(chat("01.json"), "copilot-chat")

    assert (exchange.asked, exchange.answered) == ("Open the shop", "I edit open.py.\nDone.")
    assert exchange.edited == ("/code/shop two/open.py",)
    assert [(use.name, use.input, use.outcome, use.exit_status) for use in exchange.tools] == [
        ("edit", "/code/shop two/open.py\n+ is_open = True", "", None),
        ("run_in_terminal", "make open", "locked", 2),
    ]
    (session,) = reading.sessions.values()
    assert (session.title, session.project) == ("Opening a shop", "/code/shop two")


def test_a_newer_chat_of_vs_code_is_what_its_changes_make_of_it() -> None:
    ((exchange,), reading) = read(chat("02.jsonl"), "copilot-chat", thinking=True)

    assert (exchange.asked, exchange.answered) == ("Which files are large?", "I look.")
    assert (exchange.model, exchange.thinking) == ("claude-opus-5", "du")
    assert [(use.id, use.input, use.outcome) for use in exchange.tools] == [
        ("t-1", "du -sh *", "4K a.py\n8K b.py")
    ]
    (session,) = reading.sessions.values()
    assert session.title == "Large files"
    assert reading.skipped == {"a change that does not fit": 1, "unknown record type": 1}


def chat(end: str) -> Path:
    folder = HERE / "home/.config/Code/User/workspaceStorage/ab12/chatSessions"
    (path,) = (path for path in folder.iterdir() if path.name.endswith(end))
    return path


# Exports


@pytest.mark.parametrize("packed", [False, True], ids=["as a file", "in its archive"])
def test_exports_are_read_also_inside_their_archive(tmp_path: Path, packed: bool) -> None:
    asked, titles = [], []
    for name in ("claude", "chatgpt"):
        path = HERE / "exports" / name / "conversations.json"
        if packed:
            with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.write(path, "export/conversations.json")
                archive.writestr("users.json", "[]")
            path = tmp_path / name
        exchanges, reading = read(path, "exports")
        asked += [(exchange.id, exchange.asked, exchange.answered) for exchange in exchanges]
        titles += [session.title for session in reading.sessions.values()]

    assert asked == [
        ("claude:h-1", "Name my shop {or [not]}\n[attached: list.txt]", "Call it \\ Corner."),
        ("chatgpt:n-1", "When do shops open?", "At nine."),
    ]
    assert titles == ['Names for "a" shop', "Opening hours"]


def test_an_edited_question_is_counted_as_another_branch() -> None:
    _, reading = read(HERE / "exports/chatgpt/conversations.json", "exports")
    assert reading.skipped == {"of another branch of the conversation": 1}


# All of them


def test_thoughts_are_read_only_when_wanted() -> None:
    without, _ = read(claude_sample(), "claude-code")
    with_them, _ = read(claude_sample(), "claude-code", thinking=True)

    assert [exchange.thinking for exchange in without] == ["", "", ""]
    assert with_them[0].thinking == "The total is rounded in two places."


def test_every_agent_finds_its_transcripts_in_a_home(tmp_path: Path) -> None:
    home = make_home(tmp_path)

    found = {
        agent: len(make_reader(agent).locate(home, {}, [tmp_path / "project"])) for agent in OURS
    }

    assert found == {"claude-code": 2, "codex": 4, "gemini-cli": 2, "cursor": 3, "aider": 1,
                     "opencode": 2, "copilot-cli": 1, "copilot-chat": 2, "exports": 0}  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "folder", "variable", "moved"),
    [
        ("claude-code", ".claude", "CLAUDE_CONFIG_DIR", "elsewhere"),
        ("codex", ".codex", "CODEX_HOME", "elsewhere"),
        ("gemini-cli", ".gemini", "GEMINI_CLI_HOME", "elsewhere/.gemini"),
        ("cursor", ".cursor", "CURSOR_CONFIG_DIR", "elsewhere"),
        ("opencode", ".local/share/opencode", "XDG_DATA_HOME", "elsewhere/opencode"),
        ("copilot-cli", ".copilot", "COPILOT_HOME", "elsewhere"),
    ],
)
def test_a_variable_of_the_environment_moves_them(
    tmp_path: Path, agent: str, folder: str, variable: str, moved: str
) -> None:
    home, reader = make_home(tmp_path), make_reader(agent)
    usual = reader.locate(home, {})
    (tmp_path / moved).parent.mkdir(parents=True, exist_ok=True)
    (home / folder).rename(tmp_path / moved)

    found = reader.locate(home, {variable: str(tmp_path / "elsewhere")})

    assert len(found) == len(usual) > 0


def test_a_home_without_agents_has_nothing(tmp_path: Path) -> None:
    assert [make_reader(agent).locate(tmp_path, {}) for agent in OURS] == [[]] * len(OURS)


def test_links_are_not_followed(tmp_path: Path) -> None:
    project = tmp_path / ".claude/projects/p"
    project.mkdir(parents=True)
    (project / "a.jsonl").symlink_to(claude_sample())

    assert make_reader("claude-code").locate(tmp_path, {}) == []
    (reason,) = read(project / "a.jsonl", "claude-code")[1].skipped
    assert reason.startswith("unreadable")


def test_a_name_that_is_no_agent_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(SourceError, match="There is no agent 'clippy'") as error:
        make_reader("clippy")
    assert "claude-code" in str(error.value.hint)


def test_another_package_adds_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parrot.py").write_text(
        "class Parrot:\n    agent, title = 'parrot', 'Parrot'\n", encoding="utf-8"
    )
    info = tmp_path / "parrot-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[aurora.sessions]\n"
        "parrot = parrot:Parrot\nbroken = parrot:Missing\ncodex = parrot:Parrot\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert agent_names() == [*OURS, "broken", "parrot"]
    assert make_reader("parrot").title == "Parrot"
    assert make_reader("codex").title == "Codex"
    with pytest.raises(SourceError, match="'broken' cannot be read"):
        make_reader("broken")


# Memories


def test_the_memories_of_agents_are_listed_with_their_project(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    project = tmp_path / "project"
    (project / "AGENTS.md").write_text("Be brief.")

    found = locate_memories(home, {}, [project])

    claude = home / ".claude"
    assert found == [
        MemoryFile("claude-code", claude / "CLAUDE.md"),
        MemoryFile("claude-code", claude / "projects/-code-shop/memory/MEMORY.md", "-code-shop"),
        MemoryFile("claude-code", claude / "projects/-code-shop/memory/prices.md", "-code-shop"),
        MemoryFile("codex", home / ".codex/memories/MEMORY.md"),
        MemoryFile("", project / "AGENTS.md", str(project)),
    ]
    assert not any(isinstance(item, Skipped) for item in found)
