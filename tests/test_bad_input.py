"""Every bad input that has a defined answer, and the tests that show it at each door.

The rows are those of the design: whoever adds one names its tests, or writes them. Where nobody can
meet an input at some door, a sentence says why.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent

INPUTS = (
    "empty query", "query of only punctuation", "1 MB query", "unknown type", "unknown namespace",
    "unreadable file", "binary file", "huge file", "non-UTF-8 file", "broken YAML",
    "out-of-range setting", "corrupt index", "truncated index", "newer-versioned index",
    "corrupt database", "truncated database", "newer-versioned database",
    "two processes indexing at once", "process killed at any point", "full disk", "model missing",
    "model changed", "git missing", "not a repository", "PostgreSQL away", "LLM endpoint slow",
    "LLM endpoint talking nonsense", "SQL in the query", "tsquery in the query",
    "FTS syntax in the query", "path that leaves the project",
    "document that tries to instruct the reader",
)  # fmt: skip


class Why(str):
    """Why nobody meets an input at this door."""

    __slots__ = ()


class Row(NamedTuple):
    """`FILE::FUNCTION` of tests, those of several parted by white space, for each door."""

    library: str
    aur: str
    mcp: str


_SAME_RUN = Why("a server starts the same run of indexing, which knows of no door")

ROWS: dict[str, Row] = {
    "empty query": Row(
        "retrieval/test_retriever.py::test_an_empty_query_is_an_error_with_an_example",
        "cli/test_bad_input.py::test_it_error_07_an_empty_query",
        "mcp/test_hostile.py::test_a_wrong_argument_is_named",
    ),
    "query of only punctuation": Row(
        "retrieval/test_retriever.py::test_no_query_is_a_syntax_error",
        "cli/test_bad_input.py::test_signs_and_the_syntax_of_a_database_are_words",
        "mcp/test_hostile.py::test_the_syntax_of_a_database_is_words",
    ),
    "1 MB query": Row(
        """test_engine.py::test_a_query_of_a_megabyte_is_answered
        retrieval/test_query_text.py::test_a_million_hostile_letters_are_read
        signals/test_exact.py::test_hostile_text_is_only_text""",
        "cli/test_bad_input.py::test_a_query_of_a_megabyte_is_answered",
        "mcp/test_hostile.py::test_a_wrong_argument_is_named",
    ),
    "unknown type": Row(
        "retrieval/test_filters.py::test_ut_filter_03_invalid_type_error",
        "cli/test_search.py::test_a_type_that_is_none_names_the_valid_ones",
        "mcp/test_hostile.py::test_a_wrong_argument_is_named",
    ),
    "unknown namespace": Row(
        "retrieval/test_filters.py::test_a_filter_leaves_out_and_changes_no_score",
        "cli/test_bad_input.py::test_a_namespace_that_is_none_has_no_results",
        "mcp/test_hostile.py::test_the_syntax_of_a_database_is_words",
    ),
    "unreadable file": Row(
        """indexing/test_trouble.py::test_a_file_that_may_not_be_read_is_named_and_read_when_it_may
        sources/test_document.py::test_a_file_that_cannot_be_read_says_why""",
        "cli/test_index.py::test_a_file_that_cannot_be_read_is_a_partial_success",
        _SAME_RUN,
    ),
    "binary file": Row(
        """indexing/test_targets.py::test_what_is_left_out_is_counted_by_reason
        sources/test_document.py::test_what_is_not_text_says_why""",
        """cli/test_index.py::test_warnings_of_files_are_counted_and_end_well
        cli/test_add.py::test_what_cannot_be_added""",
        """mcp/test_trouble.py::test_files_that_are_no_text_are_counted_by_reason
        mcp/test_hostile.py::test_a_wrong_argument_is_named""",
    ),
    "huge file": Row(
        """indexing/test_targets.py::test_fifty_megabytes_are_left_out_by_their_size_whatever_they_are
        sources/test_document.py::test_a_file_that_is_too_large_is_not_even_read
        indexing/test_logs.py::test_a_large_log_gives_the_chunks_of_its_text""",
        "cli/test_bad_input.py::test_a_huge_file_is_left_out_and_counted",
        """mcp/test_trouble.py::test_files_that_are_no_text_are_counted_by_reason
        mcp/test_hostile.py::test_a_wrong_argument_is_named""",
    ),
    "non-UTF-8 file": Row(
        """indexing/test_targets.py::test_what_is_left_out_is_counted_by_reason
        indexing/test_logs.py::test_a_log_that_is_not_utf8_in_its_last_byte_is_left_out_until_it_is""",
        """cli/test_index.py::test_warnings_of_files_are_counted_and_end_well
        cli/test_add.py::test_a_file_name_that_is_not_utf_8""",
        "mcp/test_trouble.py::test_files_that_are_no_text_are_counted_by_reason",
    ),
    "broken YAML": Row(
        """config/test_layers.py::test_ut_config_03_invalid_yaml
        config/test_bad_input.py::test_any_bytes_are_values_or_an_error_of_one_line""",
        "cli/test_bad_input.py::test_broken_yaml cli/test_doctor.py::test_broken_yaml_fails",
        "mcp/test_trouble.py::test_settings_that_are_wrong_are_named_until_they_are_mended",
    ),
    "out-of-range setting": Row(
        """config/test_layers.py::test_ut_config_04_out_of_range_k1
        config/test_layers.py::test_ut_config_05_out_of_range_b""",
        """cli/test_bad_input.py::test_it_error_05_invalid_config_in_the_seeds_words
        cli/test_settings.py::test_unknown_and_impossible_settings""",
        "mcp/test_trouble.py::test_settings_that_are_wrong_are_named_until_they_are_mended",
    ),
    "corrupt index": Row(
        """signals/test_bm25_signal.py::test_a_damaged_index_is_rebuilt_with_the_seeds_warning
        signals/test_vectors.py::test_a_damaged_index_is_made_anew_with_a_warning
        faults/test_torn_indexes.py::test_a_damaged_index_is_made_again_and_gives_the_same_answers""",
        "cli/test_bad_input.py::test_it_rebuild_03_it_error_04_a_broken_index_is_rebuilt",
        "mcp/test_trouble.py::test_a_broken_index_is_made_again",
    ),
    "truncated index": Row(
        "signals/test_index_file.py::test_a_truncated_file_is_refused",
        "cli/test_bad_input.py::test_it_rebuild_03_it_error_04_a_broken_index_is_rebuilt",
        "mcp/test_trouble.py::test_a_broken_index_is_made_again",
    ),
    "newer-versioned index": Row(
        """signals/test_index_file.py::test_a_newer_format_is_refused
        faults/test_torn_indexes.py::test_an_index_of_another_format_is_made_again""",
        Why("whoever asks, the library opens the index, and makes it again"),
        Why("whoever asks, the library opens the index, and makes it again"),
    ),
    "corrupt database": Row(
        """stores/test_sqlite.py::test_a_file_that_is_no_database_is_refused_and_untouched
        stores/test_sqlite.py::test_another_programs_database_is_refused_and_untouched
        faults/test_torn_database.py::test_a_damaged_header_never_gives_another_answer""",
        """cli/test_bad_input.py::test_a_file_as_database_that_is_none
        cli/test_bad_input.py::test_a_row_that_nobody_wrote_so_is_told_as_damage""",
        "mcp/test_trouble.py::test_a_database_that_cannot_be_read_is_told_and_left_alone",
    ),
    "truncated database": Row(
        "faults/test_torn_database.py::test_a_database_cut_short_never_gives_another_answer",
        "cli/test_bad_input.py::test_a_truncated_database",
        "mcp/test_trouble.py::test_a_database_that_cannot_be_read_is_told_and_left_alone",
    ),
    "newer-versioned database": Row(
        """upgrades/test_sqlite_refusals.py::test_what_is_not_ours_to_read_is_refused_and_untouched
        stores/test_postgres_migrating.py::test_a_newer_one_is_not_touched""",
        """cli/test_bad_input.py::test_a_newer_database
        cli/test_doctor.py::test_a_newer_database_fails_with_the_words_of_every_command""",
        "mcp/test_trouble.py::test_a_database_that_cannot_be_read_is_told_and_left_alone",
    ),
    "two processes indexing at once": Row(
        """indexing/test_turns.py::test_turns_of_processes_never_overlap
        upgrades/test_sqlite_refusals.py::test_processes_that_migrate_at_once_take_each_step_once""",
        """indexing/test_turns.py::test_four_that_start_together_leave_what_one_leaves
        indexing/test_turns.py::test_those_who_come_later_say_that_they_wait_and_for_whom""",
        """mcp/test_trouble.py::test_who_indexes_while_another_does_waits_and_says_so
        mcp/test_long_running.py::test_many_writers_lose_nothing""",
    ),
    "process killed at any point": Row(
        """crash/test_crashes.py::test_killed_at_any_point_it_is_whole_and_goes_on
        stores/test_sqlite.py::test_a_killed_writer_loses_nothing_it_acknowledged
        stores/test_postgres_faults.py::test_a_server_killed_while_it_is_written_loses_nothing_that_was_acknowledged""",
        """indexing/test_kill.py::test_a_first_run_killed_twenty_times
        cli/test_transfer.py::test_an_import_killed_at_any_moment_leaves_the_memory_whole""",
        Why(
            "a server changes a memory by operations of the library, each of which is killed there"
        ),
    ),
    "full disk": Row(
        """faults/test_faulty_disk.py::test_a_fault_at_any_moment_is_told_and_leaves_what_can_be_completed
        stores/test_postgres_faults.py::test_a_full_disk_is_told_and_room_is_all_it_takes
        upgrades/test_sqlite_refusals.py::test_wherever_the_disk_ends_all_is_done_or_nothing""",
        """cli/test_bad_input.py::test_a_memory_on_a_full_disk_is_told_and_stays_as_it_was
        cli/test_streams.py::test_a_full_disk_behind_stdout_is_said""",
        "mcp/test_trouble.py::test_on_a_full_disk_nothing_is_kept_and_that_is_said",
    ),
    "model missing": Row(
        """retrieval/test_fallback.py::test_fallback_triggered_when_no_provider
        test_embedders.py::test_where_no_vector_can_be_made_a_document_is_kept_and_that_is_said""",
        "cli/test_reembed.py::test_vectors_of_a_stranger_are_told_of_and_words_go_on",
        "mcp/test_trouble.py::test_vectors_of_a_model_that_is_not_here_are_told_and_words_go_on",
    ),
    "model changed": Row(
        """retrieval/test_fallback.py::test_vectors_of_another_embedder_are_told_and_never_compared
        signals/test_vectors_changing.py::test_a_long_running_index_says_that_another_model_took_over
        embeddings/own/test_provider.py::test_a_changed_file_is_found_before_anything_is_indexed""",
        "cli/test_reembed.py::test_index_keeps_to_the_memorys_own_model_and_says_so",
        "mcp/test_trouble.py::test_vectors_of_a_model_that_is_not_here_are_told_and_words_go_on",
    ),
    "git missing": Row(
        """sources/test_git.py::test_without_git_there_is_no_answer
        sources/test_walk.py::test_without_git_a_repository_is_walked_like_any_folder""",
        "cli/test_index.py::test_without_git_in_the_path_everything_is_read_with_a_warning",
        "mcp/test_trouble.py::test_without_git_all_is_read_with_a_warning",
    ),
    "not a repository": Row(
        """sources/test_git.py::test_outside_a_repository_there_is_no_answer
        sources/test_history_trouble.py::test_outside_a_repository_everything_is_untracked""",
        """cli/test_commands.py::test_init_then_index_outside_git
        cli/test_commands.py::test_outside_git_the_users_memory_is_used""",
        "mcp/test_long_running.py::test_without_a_project_the_users_own_memory_is_served",
    ),
    "PostgreSQL away": Row(
        """test_server_memory.py::test_a_search_without_its_server_is_told_at_once
        test_server_memory.py::test_an_index_run_goes_on_when_its_server_was_killed""",
        "cli/test_db.py::test_a_server_that_is_away",
        "mcp/test_trouble.py::test_a_database_server_that_is_away_is_told_without_its_password",
    ),
    "LLM endpoint slow": Row(
        "test_llm_engine.py::test_a_search_takes_no_longer_than_the_time_for_the_model_and_its_own",
        "cli/test_llm.py::test_a_server_that_hangs_keeps_neither_the_answer_nor_the_process",
        "mcp/test_language_model.py::test_a_model_that_hangs_costs_its_time_out_and_no_answer",
    ),
    "LLM endpoint talking nonsense": Row(
        """test_llm_engine.py::test_nonsense_leaves_the_search_as_it_was_and_is_told
        llm/test_expander.py::test_any_answer_is_a_few_new_terms_or_an_error
        llm/test_reranker.py::test_any_answer_is_an_order_of_some_or_an_error""",
        "cli/test_llm.py::test_nonsense_leaves_the_answer_as_it_was_and_is_told",
        "mcp/test_language_model.py::test_nonsense_is_ignored_with_a_note",
    ),
    **{
        f"{syntax} in the query": Row(
            """stores/search_conformance.py::test_questions_are_never_a_syntax
            retrieval/test_query_text.py::test_any_text_is_a_query""",
            "cli/test_bad_input.py::test_signs_and_the_syntax_of_a_database_are_words",
            "mcp/test_hostile.py::test_the_syntax_of_a_database_is_words",
        )
        for syntax in ("SQL", "tsquery", "FTS syntax")
    },
    "path that leaves the project": Row(
        """config/test_trust.py::test_a_project_may_not_lead_out_of_its_memory_folder
        sources/test_walk.py::test_links_are_never_followed
        sources/test_read.py::test_a_link_that_took_a_files_place_is_not_followed""",
        Why("who types a path means it; what a clone brings along is the library's"),
        """mcp/test_hostile.py::test_nothing_outside_of_the_project_is_indexed
        mcp/test_hostile.py::test_a_resource_is_a_chunk_and_never_a_file""",
    ),
    "document that tries to instruct the reader": Row(
        """llm/test_reranker.py::test_a_text_that_plays_the_prompt_stays_between_the_marks
        llm/test_expander.py::test_a_query_that_plays_the_prompt_stays_between_the_marks""",
        "display/test_table.py::test_control_characters_do_not_reach_the_terminal",
        """mcp/test_hostile.py::test_orders_inside_a_document_stay_inside_their_marks
        mcp/test_hostile.py::test_the_instructions_say_that_stored_text_is_data
        mcp/test_hostile.py::test_control_characters_reach_nobody_through_a_snippet""",
    ),
}


@cache
def functions(file: str) -> frozenset[str]:
    """Names of the tests of a module, those in classes too."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    found = (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return frozenset(node.name for node in found)


def test_every_bad_input_has_a_row() -> None:
    assert set(ROWS) == set(INPUTS)


@pytest.mark.parametrize("name", INPUTS)
def test_each_door_has_a_test_that_is_there(name: str) -> None:
    for told in ROWS[name]:
        assert told.split(), "a door without a test says why"
        for test in () if isinstance(told, Why) else told.split():
            file, _, function = test.partition("::")
            assert function in functions(file), test


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_is_explained_away_at_every_door(name: str) -> None:
    assert any(not isinstance(told, Why) for told in ROWS[name])
