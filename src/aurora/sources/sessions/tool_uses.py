"""Turns an agent's call of a tool into a value: what kind it is, its input, and its outcome.

Agents name their tools and arguments differently and mean the same by them. Long texts are cut to a
size that depends on the kind: what a command said is nowhere else, what a read returned is mostly a
file of the project.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from aurora.lazy_patterns import lazy_pattern
from aurora.redaction import Redactor
from aurora.sources.sessions.base import ToolKind
from aurora.sources.sessions.json_values import (
    as_line,
    dicts,
    first_text,
    get,
    get_list,
    get_text,
)
from aurora.types import Json

MAX_TEXT = 32_000  # characters of a question or an answer: longer ones are pasted files
MAX_INPUT = 2000  # of the arguments of a call, as Codex imports them
MAX_OUTCOME = {
    ToolKind.COMMAND: 4000,  # as Codex imports them
    ToolKind.EDIT: 1000,
    ToolKind.READ: 500,
    ToolKind.OTHER: 2000,
}
MAX_FAILURE = 4000  # of any call that failed

_LONG_SECRET = 512  # characters that are redacted beyond what is kept, so that no half is left
_KEY, _LONG_KEY = "PRIVATE KEY", 8192  # the longest secret has many lines before its end
_MOST_ERRORS = 8  # lines that look like errors, kept from the part that is left out
_LONGEST_ERROR = 200  # characters of such a line

_SEARCHES = """
    grep grep_search glob glob_file_search ls list list_dir list_dir_v2 list_directory list_files
    search search_files search_file_content codebase_search file_search find rg ripgrep_raw_search
    semantic_search"""
_KINDS = {
    ToolKind.COMMAND: """
        bash shell exec_command shell_command local_shell local_shell_call container.exec
        run_shell_command run_terminal_cmd run_terminal_command run_terminal_command_v2
        run_in_terminal execute_command powershell terminal user_shell""",
    ToolKind.EDIT: """
        edit multiedit multi_edit write write_file create create_file notebookedit edit_notebook
        edit_notebook_file apply_patch applypatch patch apply_diff str_replace str_replace_editor
        str_replace_based_edit_tool replace replace_in_file edit_file edit_file_v2 edit_files
        search_replace insert insert_edit_into_file append_to_file delete_file write_to_file
        strreplace replace_string_in_file multi_replace_string_in_file delete""",
    ToolKind.READ: "read read_file read_file_v2 read_many_files view view_image view_file cat "
    f"notebookread {_SEARCHES}",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}

_COMMAND = ("command", "cmd", "script", "commandLine", "CommandLine")
_PATHS = (
    "file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "targetFile",
    "relativeWorkspacePath", "relative_workspace_path", "target_notebook", "filename", "file",
    "filepath", "TargetFile", "AbsolutePath",
)  # fmt: skip
_LOOK_FOR = ("pattern", "query", "regex", "glob_pattern", "globPattern", "search_term")
_OLD = ("old_string", "old_str", "oldString", "oldText", "old_text")
_NEW = ("new_string", "new_str", "newString", "newText", "new_text", "content", "contents",
        "file_text", "code_edit", "new_source")  # fmt: skip
_PATCH = ("input", "patch", "diff", "patchText")
_PATCHED = lazy_pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_EXIT = lazy_pattern(
    r"^\W{0,3}(?:Error: )?(?:Exit code:?|Process exited with code|Command exited with code"
    r"|<exited with exit code|<shellId: \S{1,80} completed with exit code|exit status:?)"
    r" {0,3}(-?[0-9]{1,10})",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT_WITHIN = 200  # characters at either end: further in, it is the output of a command
_ERROR_LINE = lazy_pattern(
    r"^(?:E  |.{0,300}?(?:[Ee]rror|ERROR|[Ee]xception|Traceback|[Ff]ailed|FAILED|[Ff]atal"
    r"|[Pp]anic|denied|not found|cannot |undefined)).{0,300}",
    re.MULTILINE,
)


def tool_kind(name: str) -> ToolKind:
    """What kind of tool has this name."""
    return _KIND_OF.get(name.lower().removeprefix("functions."), ToolKind.OTHER)


def tool_files(kind: ToolKind, name: str, arguments: Json) -> tuple[str, ...]:
    """The files that a call names. The place of a search is not one of them."""
    if kind not in (ToolKind.EDIT, ToolKind.READ) or name.lower() in _SEARCHES.split():
        return ()
    named = [first_text(arguments, *_PATHS)]
    named += [first_text(edit, *_PATHS) for edit in dicts(get_list(arguments, "edits"))]
    named += [get_text({"": path}, "") for path in get_list(arguments, "paths")]
    for patch in _patches(arguments):
        named += [match[1].strip() for match in _PATCHED.finditer(patch)]
    return tuple(dict.fromkeys(filter(None, named)))


def tool_input(kind: ToolKind, arguments: Json) -> str:
    """What a call does, in the words of its kind."""
    if kind is ToolKind.COMMAND:
        return command_line(arguments) or _as_text(arguments)
    if kind is ToolKind.EDIT:
        return _change(arguments) or _as_text(arguments)
    if kind is ToolKind.READ:
        words = first_text(arguments, *_LOOK_FOR)
        return " ".join(filter(None, (words, first_text(arguments, *_PATHS)))) or _as_text(
            arguments
        )
    return _as_text(arguments)


def command_line(arguments: Json) -> str:
    """The command line in the arguments. That of `["bash", "-lc", …]` is the last."""
    if isinstance(arguments, str):
        return arguments
    line = next((value for key in _COMMAND if (value := get(arguments, key))), None)
    if not isinstance(line, list):
        return get_text({"": line}, "")
    words = [word for each in line if (word := get_text({"": each}, ""))]
    if len(words) == 3 and words[1] in ("-c", "-lc", "-Command", "/c"):
        return words[2]
    return shlex.join(words)


def exit_status(outcome: str) -> int | None:
    """The exit status that an outcome tells, if it does."""
    ends = outcome[:_EXIT_WITHIN], outcome[-_EXIT_WITHIN:]
    match = next(filter(None, map(_EXIT.search, ends)), None)
    return int(match[1]) if match else None


def cut(text: str, most: int, redactor: Redactor) -> str:
    """Shorten a text: keep its head, its tail, and lines between them that look like errors.

    What is kept is redacted, since half a secret would not be recognised later.
    """
    text = text.strip("\n")
    if len(text) <= most:
        return text
    near = most // 2 + _LONG_SECRET
    far = most // 4 + (_LONG_KEY if _KEY in text else _LONG_SECRET)
    if len(text) <= near + far:
        head = tail = redactor.text(text)
        errors = ""
        if len(head) <= most:
            return head
    else:
        between = _error_lines(text[near:-far])
        head, errors, tail = _redacted([text[:near], between, text[-far:]], redactor)
    head, tail = _first_lines(head, most // 2), _last_lines(tail, most // 4)
    gap = f"[… {len(text) - len(head) - len(tail):,} characters left out]"
    return "\n".join(filter(None, (head, gap, errors[: most // 4], errors and "[…]", tail)))


def _redacted(texts: Sequence[str], redactor: Redactor) -> list[str]:
    """The texts without secrets, in one go: each call takes time. Lines keep their number."""
    lines = redactor.text("\n".join(texts)).split("\n")
    safe = []
    for text in texts:
        count = text.count("\n") + 1
        safe.append("\n".join(lines[:count]))
        lines = lines[count:]
    return safe


def _error_lines(text: str) -> str:
    """A few lines that look like errors, shortened."""
    lines: dict[str, None] = {}
    for match in _ERROR_LINE.finditer(text):
        lines[match[0].strip()[:_LONGEST_ERROR]] = None
        if len(lines) == _MOST_ERRORS:
            break
    return "\n".join(lines)


def _first_lines(text: str, most: int) -> str:
    part = text[:most]
    return part[: part.rfind("\n", most // 2) + 1 or most].rstrip("\n")


def _last_lines(text: str, most: int) -> str:
    part = text[-most:]
    return part[part.find("\n", 0, most // 2) + 1 :]


def _patches(arguments: Json) -> list[str]:
    texts = [arguments] if isinstance(arguments, str) else []
    return [*texts, *filter(None, (get_text(arguments, key) for key in _PATCH))]


def _change(arguments: Json) -> str:
    """An edit as its path and lines with - and +, or the patch as it is."""
    patch = next(iter(_patches(arguments)), "")
    edits: list[Json] = [*dicts(get_list(arguments, "edits"))] or [arguments]
    lines = [first_text(arguments, *_PATHS)] if not patch else [patch]
    for edit in edits:
        lines += [f"- {line}" for line in first_text(edit, *_OLD).splitlines()]
        lines += [f"+ {line}" for line in first_text(edit, *_NEW).splitlines()]
    return "\n".join(filter(None, lines))


def _as_text(arguments: Json) -> str:
    if isinstance(arguments, dict):
        return as_line(arguments) if arguments else ""
    return get_text({"": arguments}, "")
