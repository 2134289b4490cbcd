"""Definitions of a Python file become chunks: names, contents, lines."""

from __future__ import annotations

from textwrap import dedent

import pytest

from aurora.types import Chunk, Kind, Lines
from tests.builders import parse


def outline(source: str) -> list[tuple[str, str, tuple[int, int] | None]]:
    """Id, kind and lines of each chunk that is a definition, in order."""
    return [(c.id, str(c.kind), c.lines) for c in parse(source) if c.kind is not Kind.CODE]


def one(source: str, chunk_id: str) -> Chunk:
    return {chunk.id: chunk for chunk in parse(source)}[chunk_id]


def test_a_function_is_one_chunk_with_all_it_says() -> None:
    source = 'def greet(name: str) -> str:\n    """Say hello."""\n    return f"hello {name}"\n'

    assert parse(source, "pkg/hello.py") == [
        Chunk(
            id="pkg/hello.py:greet",
            kind=Kind.FUNCTION,
            name="greet",
            qualified_name="greet",
            content=source.rstrip(),
            path="pkg/hello.py",
            lines=Lines(1, 3),
            language="python",
            metadata={"signature": "def greet(name: str) -> str:"},
        )
    ]


def test_a_class_is_its_header_docstring_fields_and_signatures() -> None:
    source = dedent('''\
        class Account(Base, metaclass=Meta):
            """Money of one owner."""

            currency: str = "EUR"

            @property
            def balance(self) -> int:
                """The sum of all movements."""
                return sum(self.movements)

            class Closed(Exception):
                reason = "secret"

            async def pay(
                self,
                amount: int,
            ) -> None:
                self.movements.append(amount)

            limit = 5
    ''')

    assert one(source, "a.py:Account").content == dedent('''\
        class Account(Base, metaclass=Meta):
            """Money of one owner."""

            currency: str = "EUR"

            @property
            def balance(self) -> int: ...

            class Closed(Exception): ...

            async def pay(
                self,
                amount: int,
            ) -> None: ...

            limit = 5''')
    assert outline(source) == [
        ("a.py:Account", "class", (1, 20)),
        ("a.py:Account.balance", "method", (6, 9)),
        ("a.py:Account.Closed", "class", (11, 12)),
        ("a.py:Account.pay", "method", (14, 18)),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("async def f(): pass\n", [("a.py:f", "function", (1, 1))], id="async"),
        pytest.param("def f():\n    return 1", [("a.py:f", "function", (1, 2))], id="no-last-line"),
        pytest.param(
            "class A:\n    class B:\n        class C:\n            def deep(self): pass\n",
            [
                ("a.py:A", "class", (1, 4)),
                ("a.py:A.B", "class", (2, 4)),
                ("a.py:A.B.C", "class", (3, 4)),
                ("a.py:A.B.C.deep", "method", (4, 4)),
            ],
            id="nested-classes",
        ),
        pytest.param(
            "def f():\n    class A:\n        def m(self): pass\n    def g(): pass\n    return g\n",
            [("a.py:f", "function", (1, 5))],
            id="inside-a-function",
        ),
        pytest.param(
            "def f[T](x: T) -> T:\n    return x\nclass A[T]: ...\n",
            [("a.py:f", "function", (1, 2)), ("a.py:A", "class", (3, 3))],
            id="type-parameters",
        ),
        pytest.param(
            "if x:\n    def f(): pass\nelif y:\n    def g(): pass\nelse:\n    def h(): pass\n",
            [(f"a.py:{name}", "function", (n, n)) for name, n in (("f", 2), ("g", 4), ("h", 6))],
            id="if",
        ),
        pytest.param(
            "try:\n    import a\nexcept E:\n    class A:\n        def m(self): pass\n"
            "else:\n    def f(): pass\nfinally:\n    def g(): pass\n",
            [
                ("a.py:A", "class", (4, 5)),
                ("a.py:A.m", "method", (5, 5)),
                ("a.py:f", "function", (7, 7)),
                ("a.py:g", "function", (9, 9)),
            ],
            id="try",
        ),
        pytest.param(
            "try:\n    import a\nexcept* E:\n    def f(): pass\n",
            [("a.py:f", "function", (4, 4))],
            id="except-group",
        ),
        pytest.param(
            "with a:\n    for b in c:\n        while d:\n            def f(): pass\n",
            [("a.py:f", "function", (4, 4))],
            id="with-for-while",
        ),
        pytest.param(
            "match x:\n    case 1:\n        def f(): pass\n",
            [("a.py:f", "function", (3, 3))],
            id="match",
        ),
        pytest.param(
            "class A:\n    if x:\n        def f(self): pass\n    else:\n        f = None\n",
            [("a.py:A", "class", (1, 5)), ("a.py:A.f", "method", (3, 3))],
            id="if-in-a-class",
        ),
        pytest.param(
            "def f(): pass\ndef f(): pass\nclass f:\n  def f(self): pass\n  def f(self): pass\n",
            [
                ("a.py:f", "function", (1, 1)),
                ("a.py:f#2", "function", (2, 2)),
                ("a.py:f#3", "class", (3, 5)),
                ("a.py:f.f", "method", (4, 4)),
                ("a.py:f.f#2", "method", (5, 5)),
            ],
            id="same-name",
        ),
        pytest.param("f = lambda x: x\n", [], id="lambda-is-no-definition"),
        pytest.param('"""\ndef f(): pass\n"""\n', [], id="text-is-no-definition"),
    ],
)
def test_which_definitions_are_found(
    source: str, expected: list[tuple[str, str, tuple[int, int]]]
) -> None:
    assert outline(source) == expected


@pytest.mark.parametrize(
    ("source", "content"),
    [
        pytest.param("import x\n\n@a\n@b(1,\n   2)\n{}", "@a\n@b(1,\n   2)\n{}", id="decorators"),
        pytest.param("x = 1\n# one\n# two\n{}", "# one\n# two\n{}", id="comment"),
        pytest.param("# why\n@a\n{}", "# why\n@a\n{}", id="comment-and-decorator"),
        pytest.param("@a\n# why\n{}", "@a\n# why\n{}", id="comment-below-a-decorator"),
        pytest.param("# apart\n\n{}", "{}", id="comment-apart"),
        pytest.param("x = 1  # of x\n{}", "{}", id="comment-of-another-line"),
        pytest.param("def g():\n    pass\n    # of g\n# of f\n{}", "# of f\n{}", id="two-comments"),
    ],
)
@pytest.mark.parametrize(
    "definition", ["def f():\n    pass", "async def f(): pass", "class f: x = 1"]
)
def test_what_stands_above_a_definition_belongs_to_it(
    source: str, content: str, definition: str
) -> None:
    chunk = one(source.format(definition) + "\n\ny = 2\n", "a.py:f")

    assert chunk.content == content.format(definition)


@pytest.mark.parametrize("opening", ["class A:", "if x:", "try:", "with a:"])
def test_a_comment_above_the_first_definition_of_a_block_belongs_to_it(opening: str) -> None:
    source = f"{opening}\n    # about f\n    def f(self):\n        pass\n"

    found = next(chunk for chunk in parse(source) if chunk.name == "f")

    assert (found.content, found.lines) == ("# about f\ndef f(self):\n    pass", (2, 4))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param("a.js", "/** why */\nexport default function f() {}", id="export-default"),
        pytest.param("a.js", "/** why */\nmodule.exports.f = function () {};", id="exports"),
        pytest.param("a.js", "/**\n * why\n */\n\nres.f = function () {};", id="blank-line"),
        pytest.param("A.java", "/** why */\n\nclass f {}", id="javadoc-and-blank-line"),
        pytest.param("a.ts", "/** why */\n@Injectable()\nexport class f {}", id="decorator"),
        pytest.param("a.rs", "/// why\n#[cfg(unix)] // here\n#[test]\nfn f() {}", id="attribute"),
        pytest.param("A.java", "/** why */\n@A\n@B(1)\nclass f {}", id="annotation"),
        pytest.param("a.go", "// why\ntype f struct{}", id="type"),
        pytest.param("a.hpp", "// why\ntemplate <class T>\nT f(T a) { return a; }", id="template"),
    ],
)
def test_a_comment_belongs_to_the_definition_whatever_is_between(path: str, source: str) -> None:
    chunks = parse(f"{source}\n", path)

    assert [(chunk.name, chunk.content.rstrip(";")) for chunk in chunks] == [
        ("f", source.rstrip(";"))
    ]


@pytest.mark.parametrize(
    "comment",
    ["// why\n", "/* why */\n", "/** why */\n\n", "/** @file why */\n", "/** Copyright 2020 */\n"],
)
def test_a_comment_that_documents_something_else_is_left_out(comment: str) -> None:
    first, second = parse(f"{comment}\nfunction f() {{}}\n", "a.js")

    assert (first.name, first.content) == ("f", "function f() {}")
    assert second.content == comment.strip()


@pytest.mark.parametrize(
    ("source", "signature"),
    [
        pytest.param("def f(a, b=1): return a", "def f(a, b=1):", id="one-line"),
        pytest.param("@a\nasync def f(): pass", "async def f():", id="decorated"),
        pytest.param("class f(Base):\n    x = 1", "class f(Base):", id="class"),
        pytest.param("def f(\n    a,\n    b\n): pass", "def f( a, b ):", id="many-lines"),
        pytest.param("def f():  # why\n    pass", "def f():", id="comment-behind"),
        pytest.param("def f():\n    # first\n    pass", "def f():", id="comment-in-the-body"),
        pytest.param("class f:\n    # first\n    x = 1", "class f:", id="comment-in-a-class"),
        pytest.param(f"def f({'a' * 400}): pass", f"def f({'a' * 294}", id="endless"),
    ],
)
def test_the_signature_is_one_line_without_comments(source: str, signature: str) -> None:
    assert one(source, "a.py:f").metadata["signature"] == signature


@pytest.mark.parametrize(
    "start", ["  # the hard part\n", "\n        # the hard part\n"], ids=["behind", "below"]
)
def test_a_comment_at_the_start_of_a_method_stays_in_the_method(start: str) -> None:
    source = f"class A:\n    def f(self):{start}        return 1\n"

    assert one(source, "a.py:A").content == "class A:\n    def f(self): ..."
    assert "# the hard part" in one(source, "a.py:A.f").content


@pytest.mark.parametrize(
    ("path", "source", "names"),
    [
        ("a.rb", "class A\n def []=(k, v)\n end\n def self.[](k)\n end\n def <=>(o)\n end\nend",
         ["A", "A.[]=", "A.[]", "A.<=>"]),
        ("a.js", "class A { [Symbol.iterator]() {} }", ["A", "A.[Symbol.iterator]"]),
        ("a.cpp", "struct A { int operator[](int i) { return i; } };", ["A", "A.operator[]"]),
        ("a.rs", "impl Index<Match> for [u8] { fn index(&self) {} }", ["[u8].index"]),
        ("a.go", "func (s *Stack[T]) Push(v T) {}", ["Stack.Push"]),
    ],
)  # fmt: skip
def test_an_operator_has_its_name(path: str, source: str, names: list[str]) -> None:
    found = [chunk.qualified_name for chunk in parse(f"{source}\n", path)]
    assert [name for name in found if name] == names


def test_a_ruby_module_around_one_class_is_no_second_chunk_of_it() -> None:
    text = "module Rack\n  module Protection\n    # why\n    class A\n    end{}\n  end\nend\n"
    names = [chunk.qualified_name for chunk in parse(text.format(""), "a.rb")]
    assert names == ["Rack.Protection.A"]
    more = [chunk.qualified_name for chunk in parse(text.format("\n    LIMIT = 3"), "a.rb")]
    assert more == ["Rack.Protection", "Rack.Protection.A"]


def test_stubs_are_marked_so_that_a_search_can_prefer_the_implementation() -> None:
    source = dedent("""\
        @overload
        def f(a: int) -> int: ...
        @typing.overload
        def f(a: str) -> str: ...
        def f(a): return a
        class Base:
            @abstractmethod
            def g(self): ...
    """)

    assert {chunk.id: chunk.metadata.get("overload") for chunk in parse(source)} == {
        "a.py:f": True,
        "a.py:f#2": True,
        "a.py:f#3": None,
        "a.py:Base": None,
        "a.py:Base.g": True,
    }


def test_signatures_above_a_function_of_their_name_belong_to_it() -> None:
    source = dedent("""\
        /** Draws. */
        export function draw(a: string): void

        // many
        export function draw(a: number): void
        export function draw(a: any) {}
        declare function other(): void
        class A {
          m(a: string): void;
          m(a: any) {}
        }
    """)

    chunks = parse(source, "a.ts")
    assert [(c.name, c.lines, [s.name for s in c.symbols]) for c in chunks] == [
        ("draw", (1, 6), []),
        ("A", (8, 11), []),
        ("m", (9, 10), []),
        ("other", (7, 7), ["other"]),
    ]


def test_a_function_called_module_keeps_its_id_whatever_stands_around_it() -> None:
    alone = parse("def module(): pass\n")
    among = parse("import a\n\ndef module(): pass\n\nx = 1\n")

    assert [c.id for c in alone] == ["a.py:module"]
    assert [c.id for c in among if c.kind is Kind.FUNCTION] == ["a.py:module"]


def test_names_of_classes_in_classes_end_somewhere() -> None:
    """With all that are around it, a name would take the square of the depth."""
    depth = 30
    text = "\n".join(f"class C{n} {{" for n in range(depth)) + "\n" + "}" * depth
    chunks = parse(text, "a.java")
    assert [chunk.name for chunk in chunks] == [f"C{n}" for n in range(depth)]
    assert len({chunk.id for chunk in chunks}) == depth
    around = [f"C{n}" for n in range(20)]
    assert chunks[20].qualified_name == ".".join([*around, "C20"])
    assert chunks[-1].qualified_name == ".".join([*around, "C29"])
