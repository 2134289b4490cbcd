"""Which errors are the same: numbers, paths and quotes may differ, what they are about may not."""

from __future__ import annotations

import pytest

from aurora.engine.error_match import SAME, best_match, key_lines

# An error as it was seen, and as it is asked for.
ALIKE = {
    "number": ("IndexError: list index 7 out of range", "IndexError: list index 12 out of range"),
    "path": ("/home/ada/shop/a.py:3: error: Name 'x' is not defined  [name-defined]",
             "/srv/b/a.py:99: error: Name 'x' is not defined  [name-defined]"),
    "address": ("<Thing object at 0x7f3aa0d9ae90> has no attribute 'go'",
                "<Thing object at 0x10> has no attribute 'go'"),
    "quotes": ("bash: line 1: `foo': command not found", "bash: line 9: ‘foo’: command not found"),
    "colours": ("\x1b[31merror\x1b[0m: cannot find value `x` in this scope",
                "error: cannot find value `x` in this scope"),
    "pytest": ("E       KeyError: 'vat'\n\nshop.py:3: KeyError\n1 failed in 0.12s",
               "E       KeyError: 'vat'"),
    "part": ("psycopg.OperationalError: connection to server at \"127.0.0.1\", port 5432 failed: "
             "Connection refused", "connection to server failed: Connection refused"),
    "whole traceback": ("ModuleNotFoundError: No module named 'yaml'",
                        "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n"
                        "    import yaml\nModuleNotFoundError: No module named 'yaml'"),
    "without quotes": ("ModuleNotFoundError: No module named 'yaml'", "no module named yaml"),
    "npm": ("npm ERR! Missing script: \"lint\"\nnpm ERR! A log: /home/ada/.npm/_logs/2026-01.log",
            'npm ERR! Missing script: "lint"'),
    "node": ("Error: Cannot find module '/app/dist/server.js'\n  code: 'MODULE_NOT_FOUND'",
             "Error: Cannot find module '/code/dist/server.js'"),
    "rust": ("error[E0382]: borrow of moved value: `video`\n --> src/main.rs:4:5",
             "error[E0382]: borrow of moved value: `video`"),
    "go": ("./main.go:12:2: undefined: fetchAll", "./cmd/main.go:40:7: undefined: fetchAll"),
    "git": ("fatal: not a git repository (or any of the parent directories): .git",
            "fatal: not a git repository"),
    "docker": ("Error response from daemon: driver failed programming external connectivity on "
               "endpoint web (9f8e7d6c5b4a): Bind for 0.0.0.0:8080 failed: port is already "
               "allocated",
               "Bind for 0.0.0.0:3000 failed: port is already allocated"),
    "java": ("Exception in thread \"main\" java.lang.NullPointerException: "
             "Cannot invoke \"String.length()\"",
             "java.lang.NullPointerException: Cannot invoke \"String.length()\""),
    "heading": ('dbt found two models with the name "stg_readings".',
                'Compilation Error\n  dbt found two models with the name "stg_readings".'),
}  # fmt: skip
UNLIKE = {
    "module": ("ModuleNotFoundError: No module named 'yaml'",
               "ModuleNotFoundError: No module named 'numpy'"),
    "module, no quotes": ("ModuleNotFoundError: No module named 'yaml'", "no module named numpy"),
    "key": ("KeyError: 'vat'", "KeyError: 'name'"),
    "exception": ("ValueError: not enough values to unpack",
                  "TypeError: not enough values to unpack"),
    "attribute": ("AttributeError: 'Shop' object has no attribute 'go'",
                  "AttributeError: 'Shop' object has no attribute 'stop'"),
    "rust code": ("error[E0382]: use of moved value: `video`",
                  "error[E0499]: cannot borrow `video`"),
    "command": ("bash: line 1: foo: command not found", "bash: line 1: cargo: command not found"),
    "script": ('npm ERR! Missing script: "lint"', 'npm ERR! Missing script: "deploy"'),
    "go name": ("./main.go:12:2: undefined: fetchAll", "./main.go:12:2: undefined: storeAll"),
    "status alone": ("FAILED tests/test_a.py::test_x - assert 1 == 2",
                     "Process exited with code 2"),
    "another tool": ("fatal: not a git repository",
                     "fatal error: stdio.h: No such file or directory"),
    "file": ("cannot open shared object file libfoo.so", "cannot open the database file"),
    "permission": ("PermissionError: [Errno 13] Permission denied: '/a/b.db'",
                   "PermissionError: [Errno 13] Permission denied: '/a/c.log'"),
    "prose": ("E  AssertionError: the list of uploads is empty", "why is the upload so slow"),
    "type": ("TypeError: unsupported operand type(s) for +: 'int' and 'str'",
             "TypeError: unsupported operand type(s) for -: 'list' and 'set'"),
}  # fmt: skip


def likeness(seen: str, asked: str) -> float:
    return best_match(key_lines(asked), seen)[0]


@pytest.mark.parametrize(("seen", "asked"), ALIKE.values(), ids=ALIKE)
def test_the_same_error_is_recognised(seen: str, asked: str) -> None:
    assert likeness(seen, asked) >= SAME


@pytest.mark.parametrize(("seen", "asked"), UNLIKE.values(), ids=UNLIKE)
def test_another_error_is_not(seen: str, asked: str) -> None:
    assert likeness(seen, asked) < SAME


def test_no_error_of_the_tables_is_taken_for_another_one() -> None:
    """Each seen one against every other question."""
    for name, (seen, _) in ALIKE.items():
        others = {other: asked for other, (_, asked) in ALIKE.items() if other != name}
        alike = {other for other, asked in others.items() if likeness(seen, asked) >= SAME}
        assert alike <= {"whole traceback", "without quotes"}, name


@pytest.mark.parametrize("text", ["", "Error", "failed", "exit status 1", "error: 42"])
def test_a_text_that_tells_no_error_has_no_key_line(text: str) -> None:
    assert key_lines(text) == []


def test_a_long_outcome_is_read_in_part() -> None:
    """Neither many lines nor long ones take long."""
    assert best_match(key_lines("KeyError: 'x'"), "/" * 200_000)[0] == 0
    assert best_match(key_lines("KeyError: 'x'"), "line\n" * 200_000 + "KeyError: 'x'")[0] == 0
