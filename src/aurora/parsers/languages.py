"""The languages: their file suffixes and, where there is a grammar, its node types.

CONTRIBUTING.md has the recipe for a new language. Grammars are packages with a compiled parser, so
nothing is downloaded; `tests/parsers/test_languages.py` shows the chunks of each. `names_of` reads
the name of a definition, which each language writes in another place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aurora.parsers import queries
from aurora.parsers.base import Source
from aurora.quick_classes import dataclass, field, replace

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Grammar:
    """How the syntax tree of a language shows definitions. All sets hold node types."""

    language: str
    functions: frozenset[str]  # definitions when they have a body
    classes: frozenset[str] = frozenset()  # classes, structs, interfaces, enums
    scopes: Mapping[str, bool] = field(default_factory=dict)  # True: its functions are methods
    namespaces: frozenset[str] = frozenset()  # classes that may be there for their name alone
    wrappers: frozenset[str] = frozenset()  # belong to the single definition inside
    blocks: frozenset[str] = frozenset()  # may contain definitions, as an ERROR may
    guards: frozenset[str] = frozenset()  # blocks that may contain a whole file
    # Comments and attributes belong to the definition below them.
    comments: frozenset[str] = frozenset({"comment"})
    holders: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # name and value fields
    values: frozenset[str] = frozenset()  # that make a holder a function
    bodies: frozenset[str] = frozenset()  # bodies without a field in the grammar
    bodiless: frozenset[str] = frozenset()  # functions without a body
    overloads: frozenset[str] = frozenset()  # signatures that belong to the function below them
    symbols: str = ""  # a query for all named definitions; see `symbols`
    package: str = ""  # the suffix of the package's name; without one, the language
    entry: str = "language"

    @property
    def module(self) -> str:
        """The import name of the package."""
        return f"tree_sitter_{self.package or self.language}"


def _types(words: str) -> frozenset[str]:
    return frozenset(words.split())


PYTHON = Grammar(
    language="python",
    symbols=queries.PYTHON,
    functions=_types("function_definition"),
    classes=_types("class_definition"),
    wrappers=_types("decorated_definition"),
    blocks=_types(
        "block if_statement elif_clause else_clause try_statement except_clause finally_clause "
        "with_statement for_statement while_statement match_statement case_clause"
    ),
)

_SCRIPT_HOLDERS = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
}

JAVASCRIPT = Grammar(
    language="javascript",
    symbols=queries.JAVASCRIPT,
    functions=_types("function_declaration generator_function_declaration method_definition"),
    classes=_types("class_declaration"),
    wrappers=_types(
        "export_statement lexical_declaration variable_declaration expression_statement"
    ),
    blocks=_types("class_body statement_block if_statement"),
    comments=_types("comment decorator"),
    holders=_SCRIPT_HOLDERS | {"field_definition": ("property", "value")},
    values=_types("arrow_function function_expression generator_function"),
)

TYPESCRIPT = replace(
    JAVASCRIPT,
    language="typescript",
    symbols=queries.TYPESCRIPT,
    overloads=_types("function_signature method_signature"),
    entry="language_typescript",
    classes=_types(
        "class_declaration abstract_class_declaration interface_declaration enum_declaration "
        "type_alias_declaration"
    ),
    scopes={"internal_module": False, "module": False},
    wrappers=JAVASCRIPT.wrappers | {"ambient_declaration"},
    holders=_SCRIPT_HOLDERS | {"public_field_definition": ("name", "value")},
)

TSX = replace(TYPESCRIPT, language="tsx", package="typescript", entry="language_tsx")

GO = Grammar(
    language="go",
    symbols=queries.GO,
    functions=_types("function_declaration method_declaration"),
    classes=_types("type_spec type_alias"),
    wrappers=_types("type_declaration"),
)

RUST = Grammar(
    language="rust",
    symbols=queries.RUST,
    functions=_types("function_item macro_definition"),
    bodiless=_types("macro_definition"),
    classes=_types("struct_item enum_item trait_item union_item"),
    scopes={"impl_item": True, "mod_item": False},
    blocks=_types("declaration_list foreign_mod_item"),
    comments=_types("line_comment block_comment attribute_item"),
)

JAVA = Grammar(
    language="java",
    symbols=queries.JAVA,
    functions=_types("method_declaration constructor_declaration compact_constructor_declaration"),
    classes=_types(
        "class_declaration interface_declaration enum_declaration record_declaration "
        "annotation_type_declaration"
    ),
    blocks=_types(
        "class_body interface_body enum_body enum_body_declarations annotation_type_body"
    ),
    comments=_types("line_comment block_comment"),
)

C = Grammar(
    language="c",
    symbols=queries.C,
    functions=_types("function_definition"),
    classes=_types("struct_specifier union_specifier enum_specifier"),
    wrappers=_types("type_definition"),
    blocks=_types(
        "preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list "
        "field_declaration_list"
    ),
    guards=_types("preproc_ifdef preproc_if linkage_specification"),
)

CPP = replace(
    C,
    language="cpp",
    symbols=queries.CPP,
    classes=C.classes | {"class_specifier"},
    scopes={"namespace_definition": False},
    wrappers=C.wrappers | {"template_declaration"},
)

C_SHARP = Grammar(
    language="csharp",
    symbols=queries.C_SHARP,
    package="c_sharp",
    functions=_types(
        "method_declaration constructor_declaration destructor_declaration operator_declaration "
        "conversion_operator_declaration local_function_statement"
    ),
    classes=_types(
        "class_declaration interface_declaration struct_declaration record_declaration "
        "enum_declaration"
    ),
    scopes={"namespace_declaration": False},
    wrappers=_types("global_statement"),
    blocks=_types("declaration_list preproc_if"),
    guards=_types("preproc_if"),
)

RUBY = Grammar(
    language="ruby",
    symbols=queries.RUBY,
    functions=_types("method singleton_method"),
    bodiless=_types("method singleton_method"),
    classes=_types("class module"),
    namespaces=_types("module"),
    blocks=_types("body_statement singleton_class if unless begin"),
)

PHP = Grammar(
    language="php",
    symbols=queries.PHP,
    entry="language_php",
    functions=_types("function_definition method_declaration"),
    classes=_types("class_declaration interface_declaration trait_declaration enum_declaration"),
    scopes={"namespace_definition": False},
    wrappers=_types("expression_statement"),
    blocks=_types("declaration_list enum_declaration_list compound_statement if_statement"),
    holders={"assignment_expression": ("left", "right")},
    values=_types("anonymous_function arrow_function"),
)

KOTLIN = Grammar(
    language="kotlin",
    symbols=queries.KOTLIN,
    functions=_types("function_declaration secondary_constructor"),
    classes=_types("class_declaration object_declaration"),
    blocks=_types("class_body enum_class_body companion_object"),
    comments=_types("line_comment block_comment"),
    bodies=_types("function_body class_body enum_class_body block"),
)

SWIFT = Grammar(
    language="swift",
    symbols=queries.SWIFT,
    functions=_types(
        "function_declaration init_declaration deinit_declaration subscript_declaration"
    ),
    classes=_types("class_declaration protocol_declaration"),
    blocks=_types("class_body enum_class_body protocol_body"),
    comments=_types("comment multiline_comment"),
)

SCALA = Grammar(
    language="scala",
    symbols=queries.SCALA,
    functions=_types("function_definition"),
    classes=_types("class_definition object_definition trait_definition enum_definition"),
    scopes={"package_clause": False},
    blocks=_types("template_body enum_body extension_definition"),
    comments=_types("comment block_comment"),
)

BASH = Grammar(
    language="bash",
    symbols=queries.BASH,
    functions=_types("function_definition"),
    blocks=_types("if_statement elif_clause else_clause case_statement case_item list"),
)

GRAMMARS: Mapping[str, Grammar] = {
    ".py": PYTHON, ".pyi": PYTHON, ".pyw": PYTHON,
    ".js": JAVASCRIPT, ".jsx": JAVASCRIPT, ".mjs": JAVASCRIPT, ".cjs": JAVASCRIPT,
    ".ts": TYPESCRIPT, ".mts": TYPESCRIPT, ".cts": TYPESCRIPT, ".tsx": TSX,
    ".go": GO, ".rs": RUST, ".java": JAVA,
    ".c": C,
    # A header may be C or C++. The C++ grammar reads C correctly but for rare words.
    ".h": CPP, ".cc": CPP, ".cpp": CPP, ".cxx": CPP, ".hh": CPP, ".hpp": CPP, ".hxx": CPP,
    ".cs": C_SHARP, ".rb": RUBY, ".rake": RUBY, ".php": PHP,
    ".kt": KOTLIN, ".kts": KOTLIN, ".swift": SWIFT, ".scala": SCALA, ".sc": SCALA,
    ".sh": BASH, ".bash": BASH,
}  # fmt: skip

PROSE: Mapping[str, str] = {
    ".md": "markdown", ".markdown": "markdown", ".rst": "restructuredtext", ".txt": "text",
}  # fmt: skip

PLAIN_LANGUAGES: Mapping[str, str] = {  # cut by lines
    ".cfg": "ini", ".css": "css", ".html": "html", ".ini": "ini", ".json": "json", ".sql": "sql",
    ".toml": "toml", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip


_ARGUMENTS = re.compile(r"<(?!=>)[^<>]*>|\[[^\[\]]+\]")  # of a generic type
_RECEIVER = re.compile(r"(\w+)\W*$")
ANONYMOUS = "anonymous"  # the name of what has none
_LONGEST = 1000  # characters of a name: nested type arguments may fill pages
_NOT_NAMES = {"module", "exports", "prototype", "this", "self", "window"}  # of JavaScript
_NAMELESS = {
    "conversion_operator_declaration": "operator", "operator_declaration": "operator",
    "deinit_declaration": "deinit", "init_declaration": "init",
    "secondary_constructor": "constructor", "subscript_declaration": "subscript",
}  # fmt: skip


def names_of(node: Node, grammar: Grammar, source: Source) -> tuple[str, ...]:
    """Return the classes that a definition names (`Server.Run`, `Foo::bar`), then its own name."""
    if node.type in grammar.holders:
        left = _field(node, grammar.holders[node.type][0], source)
        words = [word for word in left.lstrip("$#").split(".") if word not in _NOT_NAMES]
        return tuple(words) or (ANONYMOUS,)
    receiver = _RECEIVER.search(_plain(_field(node, "receiver", source)).rstrip(") "))
    own = _field(node, "name", source) or _declared(node, source)
    if not own and node.type in grammar.scopes:
        own = _field(node, "type", source)  # an `impl` in Rust has the name of its type
    words = [word.strip() for word in _plain(own).split("::") if word.strip()]
    words = words or [_NAMELESS.get(node.type, ANONYMOUS)]
    return (receiver[1], *words) if receiver else tuple(words)


def _declared(node: Node, source: Source) -> str:
    """Return the name in a C declarator: f in `int (*f(void))[3]`. A typedef names a struct."""
    inner = node.child_by_field_name("declarator")
    # Only where needed: to find a parent, tree-sitter walks down from the root.
    parent = node.parent if inner is None and node.type.endswith("_specifier") else None
    if parent is not None and parent.type == "type_definition":
        inner = parent.child_by_field_name("declarator")
    while inner is not None:
        below = inner.child_by_field_name("declarator")
        if below is None and inner.type.endswith("declarator"):
            below = inner.named_child(0)
        if below is None:
            return _text(inner, source)
        inner = below
    return ""


def _plain(name: str) -> str:
    """Remove type arguments: `Map<K, List<V>>` becomes Map. Operators and `[u8]` have none."""
    before, plain = "", name
    while before != plain:
        before, plain = plain, _ARGUMENTS.sub("", plain)
    return plain.strip() if re.search(r"\w", plain) else name


def _field(node: Node, name: str, source: Source) -> str:
    child = node.child_by_field_name(name)
    return _text(child, source) if child is not None else ""


def _text(node: Node, source: Source) -> str:
    """Return a bounded text: the callers scan it several times."""
    return source.text(node.start_byte, node.end_byte).strip()[:_LONGEST]
