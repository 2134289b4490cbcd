"""The tier of every test: core, full or stress.

`make test` runs the core: what carries no mark. `make test-full` runs what is marked `full`: slow
ways, the rest of PostgreSQL, other programs. `make stress` runs what is marked `stress` for longer;
most of those tests are `full` too and run there briefly. A test gets its marks from the tables
below, by the beginning of its name below `tests/`. A mark on the test itself works as well.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORE = "not full and not stress"  # what `make test` selects

STRESS = ("concurrency/", "crash/", "faults/", "fuzz/")  # briefly in the full tier, too

# Benchmarks that take seconds even on a tiny size. That they start is shown in the full tier.
_RUN = "benchmarks/test_scripts.py::test_a_script_runs_to_its_end"
_LONG_SCRIPTS = (
    "load/", "quality/ablation.py", "quality/decisions.py", "quality/fallback.py",
    "quality/lessons.py", "quality/peers.py", "quality/tokens.py", "speed/", "structure.py",
)  # fmt: skip

# A shorter test of the full tier shows the same.
STRESS_ONLY = (
    *(
        f"benchmarks/test_scripts.py::test_a_script_runs_to_its_end[{name}"
        for name in _LONG_SCRIPTS
    ),
    "cli/test_copy.py::test_killed",  # crash/ kills a copy, too
    "cli/test_people.py::test_rounds_of_both_at_once",
    "cli/test_transfer.py::test_an_import_killed",  # crash/ kills imports, too
    "concurrency/test_held_locks.py::test_who_cannot_write_is_told_what_is_in_the_way_and_what_to_do[postgres",
    "concurrency/test_held_locks.py::test_agents_are_answered_while_somebody_holds_the_lock[postgres]",
    "concurrency/test_held_locks.py::test_who_indexes_waits_for_one_that_stands_still_and_says_so[postgres",
    "concurrency/test_soak.py::test_everybody_at_once_loses_nothing[postgres]",
    "crash/test_crashes.py::test_killed_at_any_moment",  # at any point, too
    "faults/test_torn_database.py::test_damage_anywhere",  # stores/test_sqlite_damage.py, too
    "faults/test_torn_database.py::test_damage_below_the_seal",  # flipped bits there, too
    "faults/test_torn_database.py::test_a_flipped_bit_of_a_value_is_told[below",  # words there, too
    "faults/test_torn_indexes.py::test_a_damaged_index",  # signals/ has damaged files, too
    "indexing/test_histories.py::test_random_pasts[201]",
    "indexing/test_histories.py::test_random_pasts[203]",
    "indexing/test_kill.py",  # crash/ kills index runs, too
    "indexing/test_logs.py::test_a_log_is_never_held_in_memory[120]",
    "indexing/test_staged_pasts.py::test_random_steps_with_a_run_after_each[301]",
    "indexing/test_staged_pasts.py::test_random_steps_with_a_run_after_each[307]",
    "indexing/test_turns.py::test_many_use_a_memory",  # concurrency/ has all hands, too
    # on sqlite all four ways
    "mcp/test_every_tool.py::test_an_agent_works_with_the_memory[postgres-http]",
    "mcp/test_every_tool.py::test_an_agent_works_with_the_memory[postgres-stdio legacy]",
    "mcp/test_load.py",  # benchmarks/ runs the same load with fewer clients
    "parsers/test_conversation_stream.py::test_millions_of_lines",
    "security/test_hostile_clone.py::test_a_foreign_schema_is_an_error[an",  # three other schemas
    "security/test_hostile_git.py::test_a_huge_version_in_the_past_costs_little_memory_and_is_told_once[replay",
    "stores/test_sqlite_salvage.py::test_an_index_is_made_anew_and_nothing_is_lost[chunks_",
    "stores/test_sqlite_salvage.py::test_an_index_is_made_anew_and_nothing_is_lost[symbols_chunk",
    "stores/test_sqlite_salvage.py::test_of_a_table_what_was_in_the_page_is_lost[zeros",
    "test_server_memory.py::test_an_index_run_goes_on_when_its_server_was_killed[Indexing]",
)

FULL = (
    *STRESS,
    "benchmarks/",  # every script, on a tiny size
    "shell/",  # the twenty shell scripts of seed 000, and the page about them
    "upgrades/",  # memories of older versions
    # other programs: the MCP Inspector, agents, shells, pip, Ray, a terminal
    "cli/test_completion.py",
    "cli/test_hostile_completion.py",
    "cli/test_progress.py",
    "cli/test_streams.py",
    "cli/test_terminal.py",
    "indexing/test_ray_cluster.py",
    "indexing/test_remote_embedding.py",
    "install/test_install_command.py::test_a_file_that_is_left",
    "install/test_install_command.py::test_the_agents_of_the_machine",
    "install/test_plugins.py::test_an_agent_finds",
    "install/test_plugins.py::test_claude_code_and_codex",
    "install/test_real_agents.py",
    "mcp/test_agents.py",
    "mcp/test_inspector.py",
    "test_packaging.py",
    # servers and processes that wait, live long or are killed
    "cli/test_copy.py",
    "cli/test_watch.py",
    "indexing/test_copying.py",
    "indexing/test_trouble.py",
    "indexing/test_turns.py",
    "serving/test_connections.py",
    "mcp/test_lifetime.py::test_a_server",
    "mcp/test_long_running.py",
    "mcp/test_searching_meanwhile.py",
    "mcp/test_signals.py",
    "mcp/test_starting.py",
    "postgres/",  # the tests' own server
    # attacks, damage and bad input, beyond what units show
    "cli/test_bad_input.py",
    "mcp/test_hostile.py",
    "security/test_hostile_clone.py",
    "security/test_hostile_git.py",
    "security/test_peer_without_token.py",
    "security/test_secret_samples.py::test_a_hostile_line",
    "stores/test_sqlite_salvage.py",
    # whole ways through many commands, which shorter core tests go in part
    "cli/test_offline.py",
    "cli/test_reembed.py",
    "guide/test_quickstart.py::test_every_command_of_the_quickstart",  # installs a wheel
    "security/test_forgotten.py",
    "security/test_redaction.py::test_a_cloned_project_cannot_switch_it_off",
    "security/test_redaction.py::test_no_door_lets_a_secret_into_the_memory",
    "security/test_redaction.py::test_switched_on_again_files_are_read_again",
    "security/test_store_url.py::test_what_is_no_address",
    "stores/test_sqlite_seal.py::test_indexing_does_not_wait_for_ever",
    # random pasts of a repository, and sizes that take seconds
    "cli/test_answer.py::test_a_reader_that_has_seen_enough",
    "retrieval/test_query_text.py::test_a_million_hostile_letters",
    "retrieval/test_retriever.py::test_the_first_three_of_ten",
    "signals/test_bm25.py::test_scores_equal_a_reference_library_on_real_chunks",
    "indexing/test_histories.py",
    "indexing/test_logs.py::test_a_large_log",
    "indexing/test_logs.py::test_a_log_as_remembered_is_not_opened[large",
    "indexing/test_logs.py::test_a_log_that_is_not_utf8_in_its_last_byte",
    "indexing/test_logs.py::test_a_touched_log_is_read_and_not_parsed[large",
    "indexing/test_logs.py::test_an_edited_log_changes_only",
    "indexing/test_logs.py::test_logs_that_cannot_be_read",
    "indexing/test_logs.py::test_a_log_may_grow_large",
    "indexing/test_logs.py::test_a_log_is_never_held",
    "indexing/test_staged_pasts.py",
    "indexing/test_transfer.py::test_lines_changed_at_random",
    "parsers/test_code_stdlib.py",
    "parsers/test_endless.py",
    "sources/sessions/test_going_on.py::test_what_is_appended",
    "sources/sessions/test_damaged_transcripts.py",
    "sources/sessions/test_real_clients.py",
    "sources/sessions/test_hostile_transcripts.py::test_a_large_transcript",
    "sources/sessions/test_hostile_transcripts.py::test_a_record_that_is_too_large",
    "sources/sessions/test_hostile_transcripts.py::test_tags_that_are_never_closed",
    "sources/test_history_random.py",
    "sources/test_walk.py::test_a_file_below_a_thousand_folders",
    "sources/test_walk.py::test_a_path_that_is_longer",
    # files that take more than a second to read, and a memory that is read again with wrong names
    "cli/test_fresh.py::test_a_program_that_runs_on",
    "cli/test_fresh.py::test_closing_ends",
    "cli/test_fresh.py::test_more_than_fits",
    "cli/test_eval.py::test_a_memory_with_swapped_names",
    # a browser, beyond one way through each view, and the build of the page
    "web/test_built_page.py::test_the_sources_build",
    "web/test_exported_page.py",
    "web/test_guard.py",
    "web/test_hostile_page.py",
    "web/test_live.py",
    "web/test_other_sites.py",
    "web/test_search_actions.py",
    "web/test_view_actions.py",
    # models that are made or converted first, and packages that only the extra `dev` brings
    "cli/test_models.py",
    "embeddings/own/test_runtime.py",
    "embeddings/pulling/",
    "embeddings/test_onnx",
    "embeddings/test_sentences.py",
    "evaluation/test_metrics.py",
    "evaluation/test_resampling.py::test_a_p_value_is_near",
    "evaluation/test_resampling.py::test_an_interval_is_that_of_scipy",
    "evaluation/test_runs.py",
    "training/",
    # both stores at once, partitions, random states of a server
    "retrieval/test_parity.py",
    "stores/test_postgres.py::TestPartitionedStore",
    "stores/test_postgres.py::TestPostgresStore::test_any_text_may_be_a_criterion",
    "stores/test_postgres.py::TestPostgresStore::test_states_of_some_files",
    "stores/test_postgres.py::test_the_longest_texts",
)

# What the core runs on PostgreSQL: the conformance suite, every command and every tool.
CORE_ON_SERVER = (
    "cli/test_commands.py",
    "cli/test_index.py",
    "mcp/test_every_tool.py",
    "stores/test_postgres.py",
    "stores/test_server_addresses.py",
)

# What the full tier runs on PostgreSQL: where the server itself may make the difference. All other
# tests that are for both stores are run there by `make stress` alone.
FULL_ON_SERVER = (
    *CORE_ON_SERVER,
    "cli/test_checkouts.py::test_each_worktree_has_its_own_version",
    "cli/test_copy.py",
    "cli/test_db.py",
    "cli/test_reembed.py::test_killed",
    "cli/test_transfer.py::test_a_memory_goes_through_a_pipe",
    "cli/test_which_memory.py::test_a_private_lesson_is_found",
    "cli/test_which_memory.py::test_the_doctor_moves",
    "concurrency/",
    "crash/test_crashes.py::test_killed_at_any_point_it_is_whole_and_goes_on[add-",
    "crash/test_crashes.py::test_killed_at_any_point_it_is_whole_and_goes_on[copy-",
    "crash/test_crashes.py::test_killed_at_any_point_it_is_whole_and_goes_on[first-index-",
    "crash/test_crashes.py::test_killed_at_any_point_it_is_whole_and_goes_on[migrate-",
    "indexing/test_copying.py",
    "postgres/",
    "retrieval/test_confidence.py",
    "retrieval/test_parity.py",
    "retrieval/test_several_memories.py",
    "security/",
    "stores/",
    "test_server_memory.py",
    "upgrades/",
)

_INSTALLED = {"inspector"}  # the fixture of what only `make test-full` installs
_MODELS = {"onnx_provider", "models"}  # fixtures that convert one
_SERVERS = {"memory_url", "own_postgres", "postgres", "postgres_databases", "postgres_url"}


def mark(item: pytest.Item) -> None:
    name = item.nodeid.removeprefix("tests/")
    on_server = is_on_server(item) and not name.startswith(CORE_ON_SERVER)
    is_twin = is_for_both(item) and not name.startswith(FULL_ON_SERVER)
    if is_twin or name.startswith((*STRESS, *STRESS_ONLY)):
        item.add_marker("stress")
    if is_twin or name.startswith(STRESS_ONLY):
        return
    needs_more = not (_MODELS | _INSTALLED).isdisjoint(fixtures(item))
    if name.startswith(FULL) or on_server or needs_more:
        item.add_marker("full")


def is_on_server(item: pytest.Item) -> bool:
    """Whether a test needs a PostgreSQL server: by a fixture, or by the parameter `postgres`."""
    return is_for_both(item) or not _SERVERS.isdisjoint(fixtures(item))


def is_for_both(item: pytest.Item) -> bool:
    """Whether it is the one on a server, of a test that runs on both stores."""
    called = getattr(item, "callspec", None)
    values = called.params.values() if called else ()
    return any("postgres" in (value if isinstance(value, tuple) else (value,)) for value in values)


def fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def needs_posix(file: Path) -> bool:
    """Whether a file begins with what Windows' Python does not have."""
    text = file.read_text(encoding="utf-8")
    return re.search(r"^import (fcntl|pty|pwd|resource|termios)$", text, re.MULTILINE) is not None


def is_left_out(path: str, expression: str) -> bool:
    """Whether the core need not even read this file or folder, by its path below `tests/`."""
    others = tuple(name for name in (*FULL, *STRESS_ONLY) if "::" not in name)
    return expression == CORE and path.startswith(others)
