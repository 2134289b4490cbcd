"""`aur completion`: the script that teaches a shell to complete `aur`.

What could come next on the line: values of options and arguments, for the completing shell.

A prompt is no place for an error: whatever goes wrong, there is nothing to offer. Neither numpy
nor an index is loaded.

Completion for bash, zsh and fish, on click's own mechanism.

Click's scripts lose a colon in bash and a comma in fish, and our ids and types have both. These
hand over the line as it was typed, up to the cursor, and get one answer a line: type, value and
help with tabs between. Errors stay out of the prompt.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class

from aurora.types import Kind, ModelState

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from aurora.engine import Memory
    from aurora.types import ModelEntry

logger = logging.getLogger(__name__)


MOST_IDS = 50  # more would not help anybody to choose

Offer: TypeAlias = "Callable[[click.Context, str], list[CompletionItem]]"
Complete: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"


def _quiet(offer: Offer) -> Complete:
    """As click calls it; nothing rather than a traceback in somebody's prompt."""

    @wraps(offer)
    def completed(
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG001
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            return offer(ctx, incomplete)
        except Exception as exc:  # no memory, broken settings, a locked database: all the same here
            logger.debug("nothing to complete: %r", exc)
            return []

    return completed


@_quiet
def complete_kinds(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _after_comma(map(str, Kind), incomplete)


@_quiet
def complete_languages(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with _memory(ctx) as memory:
        return _after_comma(memory.admin.languages(), incomplete)


@_quiet
def complete_namespaces(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with _memory(ctx) as memory:
        return _starting(_namespaces(memory), incomplete)


@_quiet
def complete_ids(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    with _memory(ctx) as memory:
        return _starting(memory.admin.find_ids(incomplete, limit=MOST_IDS), incomplete)


@_quiet
def complete_forgettable(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Ids, and namespaces as `aur mem forget` takes them."""
    with _memory(ctx) as memory:
        named = [f"namespace:{name}" for name in _namespaces(memory)]
        return _starting([*named, *memory.admin.find_ids(incomplete, limit=MOST_IDS)], incomplete)


@_quiet
def complete_models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _starting((entry.name for entry in _models()), incomplete)


@_quiet
def complete_installed_models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    there = (ModelState.INSTALLED, ModelState.DAMAGED)
    return _starting((entry.name for entry in _models() if entry.state in there), incomplete)


@_quiet
def complete_keys(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _keys(incomplete)


@_quiet
def complete_flags(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Keys of settings with the `=` that a value follows."""
    return _keys(incomplete, "=")


@_quiet
def complete_files(ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return [_item(incomplete, type="file")]


def _keys(incomplete: str, end: str = "") -> list[CompletionItem]:
    from aurora.config.schema import CATALOGUE

    return [
        _item(f"{key}{end}", help=setting.help)
        for key, setting in CATALOGUE.items()
        if key.startswith(incomplete)
    ]


def _item(value: str, **about: str | None) -> CompletionItem:
    # Every command that can be completed imports this module; few runs complete anything.
    from click.shell_completion import CompletionItem

    return CompletionItem(value, **about)  # type: ignore[arg-type]


def _memory(ctx: click.Context) -> Memory:
    """The memory of the working directory, which tells nobody anything."""
    from aurora.cli.session import find_places, settings_files
    from aurora.engine import Memory

    places = find_places()
    with ctx.scope(cleanup=False):  # click completes outside of any command
        return Memory(places, settings_files(places))


def _models() -> list[ModelEntry]:
    from aurora.cli.session import find_places
    from aurora.embeddings.onnx.shelf import list_models

    return list_models(find_places().home / "models")


def _namespaces(memory: Memory) -> list[str]:
    return sorted(filter(None, memory.admin.namespaces()))


def _starting(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [_item(value) for value in values if value.startswith(incomplete)]


def _after_comma(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """One more of a list with commas: none that is in it already."""
    before, comma, _ = incomplete.rpartition(",")
    chosen = before.split(",")
    return _starting(
        (f"{before}{comma}{value}" for value in values if value not in chosen), incomplete
    )


VARIABLE = "_AUR_COMPLETE"
PROGRAM = "aur"

_BASH = """\
%(complete_func)s() {
    local type value help
    COMPREPLY=()
    while IFS=$'\\t' read -r type value help; do
        case $type in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            part) compopt -o nospace 2>/dev/null; COMPREPLY+=("$value") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null ||
    complete -F %(complete_func)s %(prog_name)s
"""
_ZSH = """\
#compdef %(prog_name)s
%(complete_func)s() {
    local type value help
    local -a plain described part
    (( $+commands[%(prog_name)s] )) || return 1
    while IFS=$'\\t' read -r type value help; do
        case $type in
            (dir) _path_files -/ ;;
            (file) _path_files -f ;;
            (part) part+=("$value") ;;
            (plain)
                if [[ -n $help ]]; then
                    described+=("${value//:/\\\\:}:$help")
                else
                    plain+=("$value")
                fi ;;
        esac
    done < <(env COMP_WORDS="${(j: :)words[1,CURRENT-1]} ${compstate[quote]}$PREFIX" \\
        %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)
    (( $#described )) && _describe -V unsorted described -U
    (( $#plain )) && compadd -U -V unsorted -a plain
    (( $#part )) && compadd -U -S '' -V unsorted -a part
    (( $#described + $#plain + $#part ))
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""
_FISH = """\
function %(complete_func)s
    for line in (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp | string collect) \\
            %(prog_name)s 2>/dev/null)
        set -l item (string split -m 2 \\t -- $line)
        switch $item[1]
            case dir
                __fish_complete_directories $item[2]
            case file
                __fish_complete_path $item[2]
            case plain part
                printf '%%s\\t%%s\\n' $item[2] "$item[3]"
        end
    end
end
complete --no-files --command %(prog_name)s --arguments '(%(complete_func)s)'
"""
_SPECIAL = re.compile(r"""([\s\\'"`$&|;<>()*?\[\]{}!#~^])""")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r"""([\\"`$])""")
_CODE = ("$(", "${", "$[", "<(", ">(")  # and backticks: what bash runs or works out
_WORD_BREAKS = frozenset(":=@")  # where bash starts another word, though nothing has to be quoted


@dataclass(frozen=True, slots=True)
class Typed:
    """A line up to the cursor: the words before, the one being typed, and its open quote.

    The quote of a word with code of the shell in it is a backtick, open or not.
    """

    words: tuple[str, ...]
    current: str
    quote: str


def read_line(line: str) -> Typed:
    """The words of a line as the shells read them; what is not finished is the last one."""
    words, word, quote, escaped, inside, code = list[str](), "", "", False, False, False
    for at, letter in enumerate(line):
        if letter.isspace() and not quote and not escaped:
            words += [word] * inside
            word, inside, code = "", False, False
            continue
        inside = True
        if not escaped and letter == "\\" and quote != "'":
            escaped = True
        elif not escaped and letter in (quote[-1:] or "'\""):
            opens = "$" if not quote and word.endswith("$") and line[at - 2 : at] != "\\$" else ""
            word = word.removesuffix(opens)
            quote = "" if quote else opens + letter
        else:
            may_run = not escaped and not quote.endswith("'")
            code |= may_run and (letter == "`" or line[at : at + 2] in _CODE)
            word, escaped = word + letter, False
    return Typed(tuple(words), word, "`" if code else quote)


class _Shell(ShellComplete):
    """What the three have in common."""

    def complete(self) -> str:
        typed = read_line(os.environ["COMP_WORDS"])
        items = self.get_completions(list(typed.words[1:]), typed.current)
        option, equals, _ = typed.current.partition("=")
        prefix = f"{option}=" if equals and option.startswith("-") else ""
        return "\n".join(
            f"{_type(item)}\t{written}\t{_line(item.help)}"
            for item in items
            if str(item.value).isprintable()
            and (written := self.written(f"{prefix}{item.value}", typed)) is not None
        )

    def written(self, value: str, typed: Typed) -> str | None:  # noqa: ARG002
        """A whole word as it is to stand in the line; None if it cannot stand there.

        Zsh and fish quote what they insert.
        """
        return value


class Bash(_Shell):
    """Bash puts a completion in the place of what follows the last colon, and quotes nothing."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _BASH

    def written(self, value: str, typed: Typed) -> str | None:
        """A file's name may hold code. In quotes that cannot keep it from running, it is left out.

        In double quotes that is `!`: a backslash before it stays in the word.
        """
        if typed.quote == "'":
            return None if "'" in value else value
        if typed.quote in ('"', '$"'):
            return None if "!" in value else _SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\1", value)
        if typed.quote:
            return None
        breaks = _WORD_BREAKS & set(os.environ.get("COMP_BREAKS", ""))
        kept = max((typed.current.rfind(letter) for letter in breaks), default=-1) + 1
        return _SPECIAL.sub(r"\\\1", value.removeprefix(typed.current[:kept]))


class Zsh(_Shell):
    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = _ZSH


class Fish(_Shell):
    name: ClassVar[str] = "fish"
    source_template: ClassVar[str] = _FISH


SHELLS: dict[str, type[ShellComplete]] = {shell.name: shell for shell in (Bash, Zsh, Fish)}
for _shell in SHELLS.values():
    add_completion_class(_shell)


def _type(item: CompletionItem) -> str:
    """`part` is a value that goes on: no space follows it."""
    return "part" if item.type == "plain" and str(item.value).endswith("=") else item.type


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


@click.command(
    epilog="""\b
To install it, once:
  bash   echo 'eval "$(aur completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(aur completion zsh)"' >> ~/.zshrc      after compinit
  fish   aur completion fish > ~/.config/fish/completions/aur.fish
\b
Examples:
  aur completion zsh
  aur completion             for the shell that $SHELL names
\b
Commands, options and settings are completed, and from the memory of the working directory
ids, languages and namespaces."""
)
@click.argument("shell", required=False, type=click.Choice(list(SHELLS)))
def completion(shell: str | None) -> None:
    """Print the completion script of a shell: bash, zsh or fish."""
    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        told = f"$SHELL is {name!r}, which" if name else "$SHELL is not set, and a shell"
        raise click.UsageError(f"{told} is none of {', '.join(SHELLS)}: name one of them.")
    root = click.get_current_context().find_root().command
    click.echo(SHELLS[name](root, {}, PROGRAM, VARIABLE).source(), nl=False)
