"""`aur completion`: the completion scripts for bash, zsh and fish.

click's scripts lose a colon in bash and a comma in fish, and our ids and types have both. These
scripts pass the line up to the cursor, and read one completion per line: type, value and help with
tabs between them. Errors are not shown.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class

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
_CODE = ("$(", "${", "$[", "<(", ">(")  # bash runs or expands these, and backticks
_WORD_BREAKS = frozenset(":=@")  # bash starts a new word after these without a space


@dataclass(frozen=True, slots=True)
class Typed:
    """A line up to the cursor: the complete words, the current word, and its open quote.

    For a word that contains shell code, `quote` is a backtick.
    """

    words: tuple[str, ...]
    current: str
    quote: str


def read_line(line: str) -> Typed:
    """Split a line into words as the shells do; the last word is the unfinished one."""
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
    """Prints `type<tab>value<tab>help` for each completion."""

    def complete(self) -> str:
        typed = read_line(os.environ["COMP_WORDS"])
        items = self.get_completions(list(typed.words[1:]), typed.current)
        option, equals, _ = typed.current.partition("=")
        prefix = f"{option}=" if equals and option.startswith("-") else ""
        return "\n".join(
            f"{_type(item)}\t{written}\t{' '.join((item.help or '').split())}"
            for item in items
            if str(item.value).isprintable()
            and (written := self.written(f"{prefix}{item.value}", typed)) is not None
        )

    def written(self, value: str, typed: Typed) -> str | None:  # noqa: ARG002
        """The text to insert for a value; None if it cannot be inserted safely.

        Zsh and fish quote what they insert.
        """
        return value


class Bash(_Shell):
    """Bash replaces only the text after the last colon, and quotes nothing."""

    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = _BASH

    def written(self, value: str, typed: Typed) -> str | None:
        """Quote the value, because a file's name may contain shell code.

        Returns None inside quotes that cannot escape it, such as `!` in double quotes.
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
    """`part` is an incomplete value: no space follows it."""
    return "part" if item.type == "plain" and str(item.value).endswith("=") else item.type


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
        reason = f"$SHELL is {name!r}" if name else "$SHELL is not set"
        raise click.UsageError(f"{reason}: name one of {', '.join(SHELLS)}.")
    root = click.get_current_context().find_root().command
    click.echo(SHELLS[name](root, {}, "aur", "_AUR_COMPLETE").source(), nl=False)
