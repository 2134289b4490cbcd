"""What a session is told for a prompt, before an edit or a command, and after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aurora import Memory, Moment, Places, Recall, Situation
from aurora.sources.sessions.base import ToolKind, ToolUse
from tests.builders import NOW, make_exchange, write_tree

POOL = "connection pool exhausted: TimeoutError in 'checkout'"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    root = write_tree(tmp_path / "shop", {
        "src/pay.py": "def pay():\n    return charge()\n",
        "src/cart.py": "def add(): pass\n",
        "tests/pay.py": "def run_the_load_test_of_the_checkout(): pass\n",
    })  # fmt: skip
    (root / ".aurora").mkdir()
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        memory.admin.create()
        yield memory


def before_edit(memory: Memory, file: str, **options: object) -> Recall:
    return memory.recall(Situation(Moment.EDIT, file=file), **options)  # type: ignore[arg-type]


def before_command(memory: Memory, command: str) -> Recall:
    return memory.recall(Situation(Moment.COMMAND, command=command))


def after_failure(memory: Memory, error: str, command: str = "") -> Recall:
    return memory.recall(Situation(Moment.FAILURE, error, command=command))


def reasons(recalled: Recall) -> dict[str, str]:
    return {item.id: item.reason for item in recalled.items}


def ran(command: str, outcome: str = "", *, id_: str = "c1", status: int = 0) -> ToolUse:
    return ToolUse(
        id_, "Bash", ToolKind.COMMAND, command, outcome, failed=status != 0, exit_status=status
    )


def edited(file: str, change: str = "pool = 5") -> ToolUse:
    return ToolUse(f"e-{file}", "Edit", ToolKind.EDIT, f"{file}\n{change}", files=(file,))


def said(
    memory: Memory, asked: str, answered: str, *tools: ToolUse, days: int = 1, project: str = ""
) -> str:
    """Store an exchange of the project, or of another one; its id."""
    project = project or str(memory.root)
    chunks = make_exchange(
        asked, answered, *tools, project=project, time=NOW - timedelta(days=days)
    )
    personal = memory.personal
    assert personal is not None
    personal.admin.create()
    personal.admin.store.chunks.put_chunks(chunks)
    return chunks[0].id


def test_before_an_edit_lessons_about_the_file_are_told_what_failed_first(memory: Memory) -> None:
    worked = memory.learn("Round at the end", context="src/pay.py")
    failed = memory.learn("Charge twice and refund", context="see pay.py", score=0.0)
    memory.learn("Keep the order of lines", context="src/cart.py")
    assert reasons(before_edit(memory, "src/pay.py")) == {
        failed.id: "about src/pay.py, did not work",
        worked.id: "about src/pay.py",
    }


@pytest.mark.parametrize("file", ["src/pay.py", "./src/../src/pay.py", "{root}/src/pay.py"])
def test_a_file_may_be_written_in_any_way(memory: Memory, file: str) -> None:
    lesson = memory.learn("Round at the end", files=["src/pay.py"])
    recalled = before_edit(memory, file.format(root=memory.root))
    assert reasons(recalled) == {lesson.id: "about src/pay.py"}


def test_a_file_may_be_named_through_a_link(memory: Memory, tmp_path: Path) -> None:
    lesson = memory.learn("Round at the end", files=["src/pay.py"])
    assert memory.root
    (tmp_path / "link").symlink_to(memory.root, target_is_directory=True)
    told = reasons(before_edit(memory, f"{tmp_path}/link/src/pay.py"))
    assert told == {lesson.id: "about src/pay.py"}


@pytest.mark.parametrize(
    "file", ["src/cart.py", "/etc/pay.py", "../pay.py", "", "src/new.py", "src\0/pay.py"]
)
def test_before_an_edit_of_another_file_there_is_silence(memory: Memory, file: str) -> None:
    memory.learn("Round at the end", context="src/pay.py")
    said(memory, "why does pay fail?", "The pool.", edited("src/pay.py"))
    assert before_edit(memory, file).items == ()


def test_a_lesson_says_that_its_file_has_changed_since(memory: Memory) -> None:
    lesson = memory.learn("Round at the end", files=["src/cart.py"])
    assert memory.root
    (memory.root / "src/cart.py").unlink()
    told = reasons(before_edit(memory, "src/cart.py"))
    assert told == {lesson.id: "about src/cart.py, stale: src/cart.py changed since"}


def test_before_an_edit_it_tells_what_changes_of_the_file_mended_and_decided(
    memory: Memory,
) -> None:
    begin = said(
        memory, "make checkout quick", "It held a connection for each line. We use one pool.",
        ran("make load", POOL, status=1), edited("src/pay.py"), ran("make load", id_="c2"),
    )  # fmt: skip
    said(memory, "fix the style of pay", "Done.", ran("make lint", "src/pay.py:1: error", status=1),
         edited("src/pay.py"), ran("make lint", id_="c2"))  # fmt: skip
    said(memory, "rename it in src/pay.py", "Renamed.", edited("src/pay.py"))
    recalled = before_edit(memory, "src/pay.py")
    assert reasons(recalled) == {
        f"{begin}:fix:c1": "mended by a change of pay.py",
        f"{begin}:decisions": "decided when pay.py was changed",
    }
    first = recalled.items[0]
    assert (first.kind, first.title, first.memory) == ("failure", "make load", "personal")
    assert first.text == f"{POOL}; It held a connection for each line. We use one pool."


def test_before_a_command_there_is_silence_unless_it_failed_the_last_time(memory: Memory) -> None:
    said(memory, "load?", "No.", ran("make load", POOL, status=1), days=3)
    said(memory, "seed?", "Yes.", ran("make seed"), days=3)
    assert before_command(memory, "make seed").items == ()
    [item] = before_command(memory, "make load").items
    assert (item.kind, item.title, item.reason) == ("failure", "make load", "failed the last time")
    assert item.text == f"{POOL}; No."
    assert before_command(memory, "make load-all").items == ()
    said(memory, "and now?", "It passes.", ran("make load"), days=2)
    assert before_command(memory, "make load").items == ()


@pytest.mark.parametrize(
    ("command", "is_named"),
    [
        ("npm run build", True),
        ("cd web && NODE_ENV=test npm run build --watch", True),
        ("npm run test", False),
        ("npm install", False),
        ("echo npm run build", False),
        ("make", False),
        ("./build", False),
        ("", False),
    ],
)
def test_a_lesson_that_names_the_command_is_told_before(
    memory: Memory, command: str, *, is_named: bool
) -> None:
    lesson = memory.learn(
        "Make sure that npm run build has 4 GB of memory, and that each build is logged"
    )
    memory.learn("Read src/pay.py")
    expected = {lesson.id: "about npm run build"} if is_named else {}
    assert reasons(before_command(memory, command)) == expected


def test_after_a_failure_it_tells_what_mended_the_error(memory: Memory) -> None:
    lesson = memory.learn("A pool that is exhausted (TimeoutError in checkout): close connections")
    memory.learn("Tests of pay need checkout")
    begin = said(
        memory, "make checkout quick", "It held a connection for each line.",
        ran("make load", POOL, status=1), edited("src/pay.py"), ran("make load", id_="c2"),
    )  # fmt: skip
    asked = said(memory, f"production says\n{POOL}", "Restart it, then close the connections.")
    assert reasons(after_failure(memory, f"Traceback:\n{POOL}", "make all")) == {
        lesson.id: "about this error",
        f"{begin}:fix:c1": "mended this error",
        asked: "answered this error",
    }
    for error in (POOL.replace("checkout", "search"), "exit status 1", ""):
        assert after_failure(memory, error, "make all").items == ()


def test_what_mended_an_error_in_another_project_says_so(memory: Memory) -> None:
    said(
        memory, "make checkout quick", "It held a connection for each line.",
        ran("make load", POOL, status=1), edited("db.py"), ran("make load", id_="c2"),
        project="/code/other",
    )  # fmt: skip
    assert list(reasons(after_failure(memory, POOL)).values()) == ["mended this error in other"]
    assert before_command(memory, "make load").items == ()


def for_prompt(memory: Memory, text: str) -> Recall:
    if memory.personal and memory.personal.exists:
        memory.personal.index()  # makes vectors of what was said
    return memory.recall(Situation(Moment.PROMPT, text))


WHY = (
    "Each line of the cart opened a connection and kept it until the whole checkout was over, so "
    "that five customers used up the pool. One connection serves a checkout now."
)


def test_a_prompt_is_told_what_an_earlier_session_explained(memory: Memory) -> None:
    talk = said(
        memory, "why is the connection pool of the checkout exhausted?",
        f"Let me look at it.\n\nNow I run it.\n\n{WHY}",
    )  # fmt: skip
    said(memory, "run the load test of the checkout", "All pass.", ran("make load-checkout"))
    recalled = for_prompt(memory, "the connection pool of the checkout is exhausted again")
    [item] = recalled.items
    assert (item.id, item.title) == (talk, "why is the connection pool of the checkout exhausted?")
    assert item.text.startswith("answered: Each line of the cart opened a connection")


def test_a_prompt_is_told_neither_routine_nor_code(memory: Memory) -> None:
    memory.index(memory.root or ".")
    said(memory, "run the load test of the checkout", "All pass.", ran("make load-checkout"))
    recalled = for_prompt(memory, "run the load test of the checkout")
    assert recalled.items == ()
    why = {row.reason.partition(":")[0] for row in recalled.left_out}
    assert {"the same request", "an agent reads files by itself"} <= why


@pytest.mark.parametrize("text", ["go on", "run the tests", "yes", "commit and push"])
def test_a_prompt_that_says_too_little_is_not_looked_for(memory: Memory, text: str) -> None:
    memory.learn(f"{text}: {WHY}")
    recalled = for_prompt(memory, text)
    assert (recalled.items, recalled.left_out) == ((), ())
    assert [note.text for note in recalled.notes] == ["The prompt says too little to look for"]


def test_what_was_given_before_is_left_out(memory: Memory) -> None:
    lesson = memory.learn("Round at the end", context="src/pay.py")
    for recalled in (
        before_edit(memory, "src/pay.py", given={lesson.id}),
        memory.recall(given=[lesson.id]),
        memory.recall(
            Situation(Moment.PROMPT, "round the sum of all lines at the end"), given=[lesson.id]
        ),
    ):
        assert lesson.id not in reasons(recalled)
        assert [row.reason for row in recalled.left_out if row.id == lesson.id] == ["given before"]


def test_a_question_is_found_before_and_after_a_long_text(memory: Memory) -> None:
    talk = said(memory, "why is the connection pool of the checkout exhausted?", WHY)
    pasted = "\n".join(f"10:{n:05} worker-{n} ping" for n in range(3000))
    for text in (
        f"the connection pool of the checkout is exhausted again, five customers\n{pasted}",
        f"{pasted}\nthe connection pool of the checkout is exhausted again, five customers",
    ):
        in_all = [*for_prompt(memory, text).items, *for_prompt(memory, text).left_out]
        assert talk in {row.id for row in in_all}


def test_of_an_exchange_that_was_given_no_other_piece_is_told(memory: Memory) -> None:
    begin = said(
        memory, "make checkout quick", "It held a connection for each line. We use one pool.",
        ran("make load", POOL, status=1), edited("src/pay.py"), ran("make load", id_="c2"),
    )  # fmt: skip
    for given in (begin, f"{begin}:decisions", f"{begin}@2"):
        recalled = before_edit(memory, "src/pay.py", given=[given])
        assert (recalled.items, len(recalled.left_out)) == ((), 2)


def test_a_folder_without_a_project_has_no_files_to_tell_of(tmp_path: Path) -> None:
    with Memory(Places(tmp_path / "home", None), now=lambda: NOW) as memory:
        memory.learn("Round at the end", context="src/pay.py")
        assert before_edit(memory, "src/pay.py").items == ()


def test_the_start_tells_what_the_last_session_left_open(memory: Memory) -> None:
    said(memory, "seed it", "Done.", ran("make seed"), ran("make load", POOL, id_="c2", status=1))
    last = said(memory, "and the invoices?", "", days=0)
    ended, failed = memory.recall().items
    assert (ended.id, ended.reason) == (last, "where the last session ended, without an answer")
    assert (failed.title, failed.reason) == ("make load", "failed at the end of it")
    assert failed.text == f"{POOL}; Done."
    said(memory, "try again", "It passes.", ran("make load"), days=0)
    assert "failure" not in {item.kind for item in memory.recall().items}
