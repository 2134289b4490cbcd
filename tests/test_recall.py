"""What a session is told without asking: the right lines, within the budget, or nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora import Criteria, Memory, Moment, NewDocument, Places, QueryError, Situation
from aurora.retrieval.query import parse_query, without_filters
from aurora.stores.base import Store
from aurora.text import count_tokens
from tests.backends import keep_on_server
from tests.builders import NOW, make_exchange, write_tree

LESSON = "Cut a large video into parts before its upload"


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A repository with a commit of two files, and one that is not committed."""
    root = write_tree(tmp_path / "birds", {
        "src/upload.py": "def upload(video):\n    raise NotImplementedError\n",
        "src/wade.py": "def wade(water):\n    return water\n",
        ".gitignore": ".aurora\n",
    })  # fmt: skip
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "let the heron wade")
    write_tree(root, {"src/fly.py": "def fly(): pass\n"})
    if backend == "postgres":
        keep_on_server(root, tmp_path / "home", request.getfixturevalue("memory_url"))
    return root


@pytest.fixture
def memory(project: Path, tmp_path: Path) -> Iterator[Memory]:
    (project / ".aurora").mkdir(exist_ok=True)
    with Memory(Places(tmp_path / "home", project), now=lambda: NOW) as memory:
        memory.index(project)
        yield memory


def prompt(text: str) -> Situation:
    return Situation(Moment.PROMPT, text)


def add(memory: Memory, text: str, kind: str, **fields: object) -> str:
    document = NewDocument(text, document_type=kind, **fields)  # type: ignore[arg-type]
    return memory.add_all([document])[0].id


def reasons(memory: Memory, **options: int) -> dict[str, str]:
    return {item.id: item.reason for item in memory.recall(**options).items}


def test_a_memory_of_code_alone_has_nothing_to_say_at_the_start(memory: Memory) -> None:
    recalled = memory.recall()
    assert (recalled.items, recalled.left_out, recalled.text, recalled.tokens) == ((), (), "", 0)


def sessions_of(memory: Memory) -> Store:
    """Where sessions are kept: the person's memory."""
    personal = memory.personal
    assert personal is not None
    personal.admin.create()
    return personal.admin.store


def test_the_first_line_is_where_the_last_session_of_the_project_ended(
    memory: Memory, project: Path
) -> None:
    memory.learn("Herons wade slowly", context="see wade.py.")
    git(project, "worktree", "add", "--quiet", "../birds-wing")
    days = [NOW - timedelta(days=n) for n in range(90)]
    said = {
        "old": make_exchange("Which bird?", time=days[80], project=str(project)),
        "last": make_exchange(
            "Why do herons wade " + "so slowly " * 20, "They hunt.\n\nAt dawn.", title="Wading",
            time=days[3], project=f"{project.parent}/birds-wing/src", agent="claude-code",
        ),
        "elsewhere": make_exchange("Another?", time=days[0], project=f"{project}-2"),
        "begun by another": make_exchange(
            "Look for herons", time=days[0], project=str(project), parent="5e551011"
        ),
    }  # fmt: skip
    sessions_of(memory).chunks.put_chunks(chain.from_iterable(said.values()))

    first, second = memory.recall().items[:2]

    assert (first.id, first.kind, first.title) == (said["last"][0].id, "session", "Wading")
    assert (first.date, first.reason) == (days[3], "where the last session ended")
    assert first.text.startswith("asked: Why do herons wade so slowly so")
    assert first.text.endswith(" so slowly … answered: They hunt. At dawn.".replace("… ", "…; "))
    assert second.kind == "lesson"


def test_a_title_that_is_the_question_is_not_repeated(memory: Memory, project: Path) -> None:
    said = make_exchange("Which bird?", "A heron.", title="Which bird?", project=str(project))
    sessions_of(memory).chunks.put_chunks(said)
    [item] = memory.recall().items
    assert (item.title, item.text) == ("Which bird?", "answered: A heron.")


def test_an_old_session_is_where_the_last_one_ended(memory: Memory, project: Path) -> None:
    old = make_exchange("Which bird?", "", time=NOW - timedelta(days=800), project=str(project))
    sessions_of(memory).chunks.put_chunks(old)
    [item] = memory.recall().items
    assert item.line == (
        "- session: Which bird?: asked: Which bird? (2024-09-06; where the last session ended, "
        "without an answer; "
        f"{old[0].id})"
    )
    assert memory.recall(budget=item.tokens - 1).items == ()


def test_lessons_about_changed_files_come_first(memory: Memory) -> None:
    other = memory.learn("Sort the keys before two dumps are compared")
    waded = memory.learn("Herons wade slowly", context="see wade.py.")
    flown = memory.learn("Nobody flies at night", context="src/fly.py")
    assert reasons(memory) == {
        flown.id: "about src/fly.py, not committed yet, worked",
        waded.id: "about src/wade.py, changed lately, worked",
        other.id: "worked",
    }
    first = memory.recall().items[0]
    assert (first.kind, first.title, first.memory) == ("lesson", "", "birds")
    assert first.date == NOW


def test_a_folder_that_a_lesson_names_has_its_changed_files(memory: Memory) -> None:
    write_tree(memory.places.project or Path(), {"src/net/http.py": "def get(): pass\n"})
    lesson = memory.learn("Only threads may wait", context="src/net")
    assert reasons(memory)[lesson.id] == "about src/net/http.py, not committed yet, worked"


def test_a_lesson_that_is_used_often_comes_before_a_new_one(memory: Memory) -> None:
    for _ in range(3):
        used = memory.learn("Read the manual of the heron")
    new = memory.learn("Count the eggs twice")
    assert reasons(memory) == {used.id: "worked, used 3 times", new.id: "worked"}


def test_plans_are_recalled_until_they_are_done(memory: Memory) -> None:
    is_open = add(memory, "# Nests\n\n- [x] twigs\n- [ ] moss\n", "plan")
    add(memory, "# Wings\n\n- [x] left\n- [x] right\n", "plan")
    add(memory, "# Beaks\n\nsee src/fly.py\n", "plan", metadata={"status": "Done"})
    assert reasons(memory) == {is_open: "open plan"}


def test_decisions_are_recalled_the_newest_first(memory: Memory) -> None:
    ids = [
        add(memory, f"# Rule {n}\n\nAgreed.\n", "decision", created_at=NOW - timedelta(days=n))
        for n in (3, 1, 2)
    ]
    assert list(reasons(memory)) == [ids[1], ids[2], ids[0]]
    line = memory.recall().items[0].line
    assert line == f"- decision: Rule 1: Agreed. (2026-11-14; recent; {ids[1]})"


def test_what_agents_remember_by_themselves_is_not_recalled(memory: Memory) -> None:
    add(memory, "Prices are in cents.", "agent-memory")
    assert reasons(memory) == {}


def test_the_budget_is_never_exceeded_and_nothing_is_lost(memory: Memory) -> None:
    for n in range(6):
        memory.learn(f"Lesson {n}: " + f"wade in water number {n}, slowly; " * (1 + 4 * n))
        add(memory, f"# Rule {n}\n\n" + "herons are counted at dawn. " * 5 * n, "decision")
    everything = memory.recall(budget=100_000)
    assert everything.left_out == ()
    ids = {item.id for item in everything.items}
    for budget in (1, 30, 50, 100, 200, 400, 800):
        recalled = memory.recall(budget=budget)
        assert recalled.tokens <= budget
        assert count_tokens(recalled.text) <= recalled.tokens
        left_out = {row.id for row in recalled.left_out}
        assert {item.id for item in recalled.items} | left_out == ids
        assert not {item.id for item in recalled.items} & left_out
        assert bool(recalled.items) == (budget > 1)


def test_the_same_state_gives_the_same_lines(memory: Memory) -> None:
    for n in range(5):
        memory.learn(f"Rule of thumb {n}")
        add(memory, f"# Rule {n}\n\nAgreed.\n", "decision")
    first = memory.recall()
    memory.close()
    assert memory.recall() == first
    assert len(first.items) > 3


def test_a_prompt_is_answered_by_what_surely_fits_it(memory: Memory) -> None:
    lesson = memory.learn(LESSON)
    memory.learn("Herons eat frogs")
    recalled = memory.recall(prompt("why does the upload of a large video fail?"))
    assert [item.id for item in recalled.items if item.kind == "lesson"] == [lesson.id]
    assert all(item.reason.startswith("fits the prompt, 0.") for item in recalled.items)
    reasons = {row.reason.partition(":")[0] for row in recalled.left_out}
    assert reasons == {"not sure enough", "an agent reads files by itself"}


@pytest.mark.parametrize("text", ["how is bread baked in a stone oven", "", "  ", "???", "thanks!"])
def test_a_prompt_that_nothing_fits_is_answered_by_silence(memory: Memory, text: str) -> None:
    memory.learn(LESSON)
    assert memory.recall(prompt(text)).items == ()


@given(st.text() | st.sampled_from(('type:function "a b" -word', "“x”", "-a -b", "path:src/** c")))
def test_a_prompt_has_no_filters(text: str) -> None:
    assert parse_query(without_filters(text), now=NOW).criteria == Criteria()


def test_code_of_a_prompt_keeps_its_spelling() -> None:
    text = "does std::vector in http://x.y/a-b fail with x: y"
    assert without_filters(text) == text


def test_the_last_conversation_is_that_of_the_project(memory: Memory, tmp_path: Path) -> None:
    logs = tmp_path / "home/logs/conversations/2026/11"
    head = "# Conversation: {0}\nDate: {1}\n\n"
    phases = head + "## Phase 1: Ask\n\n{2}\n\n## Phase 2: Do\n\nDone.\n"
    write_tree(logs, {
        "old.md": phases.format("Nests", "2026-11-01", "build nests for the Birds project"),
        "new.md": phases.format("Wings", "2026-11-10", "the wings in ~/birds"),
        "other.md": phases.format("Bread", "2026-11-12", "bake bread, no blackbirds"),
    })  # fmt: skip
    memory.index()
    assert reasons(memory) == {
        "2026/11/conv-new-phase2": "last conversation",
        "2026/11/conv-new-phase1": "last conversation",
    }


def test_what_two_memories_hold_is_recalled_once(memory: Memory) -> None:
    memory.learn(LESSON)
    memory.learn(LESSON, private=True)
    assert len(memory.recall().items) == 1


def test_a_recall_is_no_use(memory: Memory) -> None:
    lesson = memory.learn(LESSON)
    memory.recall()
    memory.recall(prompt("upload of a large video"))
    assert memory.admin.store.chunks.get_accesses([lesson.id]) == {}


def test_a_budget_without_room_is_an_error(memory: Memory) -> None:
    with pytest.raises(QueryError, match="A budget of 0 tokens"):
        memory.recall(budget=0)


def test_a_folder_without_git_has_no_changed_files(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "plain", {"a.py": "def first(): pass\n"})
    (root / ".aurora").mkdir()
    with Memory(Places(tmp_path / "home", root), now=lambda: NOW) as memory:
        memory.index(root)
        lesson = memory.learn("Mind the gap", context="a.py")
        assert reasons(memory) == {lesson.id: "worked"}
