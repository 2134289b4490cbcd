"""The `aur` command: its groups, its way of failing, and nothing that takes time to import.

The standard streams as they should be: talk may be lost, and no letter is a failure.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO, NoReturn, cast

import click

from aurora.errors import AuroraError, ChunkNotFoundError, QueryError, SourceError
from aurora.text import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from click.shell_completion import CompletionItem

logger = logging.getLogger(__name__)


def prepare_streams() -> None:
    """Before anything is said. A stream that was closed (`2>&-`) is None, and stays so."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # such as CJK in Latin-1
    if isinstance(sys.stderr, io.TextIOWrapper):
        binary = sys.stderr.buffer
        sys.stderr = io.TextIOWrapper(
            cast("io.BufferedIOBase", IgnoreWriteErrors(getattr(binary, "raw", None) or binary)),
            encoding=sys.stderr.encoding,
            errors=sys.stderr.errors,
            line_buffering=True,
            write_through=True,
        )


def close_stdout() -> None:
    """Python would complain once more when it writes what is left at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def trouble_of_stdout() -> SourceError | None:
    """What to say when standard output takes no more: it still holds what it could not write."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as exc:
        close_stdout()
        return SourceError(
            f"Standard output cannot be written: {exc.strerror}", hint="check the space left for it"
        )
    return None


class IgnoreWriteErrors(io.RawIOBase):
    """Standard error, whose reader may be gone (`2>&1 | head`): the work goes on without."""

    def __init__(self, stream: io.RawIOBase | BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return self._stream.write(data) or 0
        except OSError:
            return memoryview(data).nbytes


_COMPLETE = "_AUR_COMPLETE"  # set by the scripts of `aur completion`
_INTERRUPTED = 130  # what shells expect of a program stopped by Ctrl-C


class Failure(click.ClickException):
    """An `AuroraError` on its way to the terminal."""

    def __init__(self, error: AuroraError) -> None:
        super().__init__("\n".join(map(printable, str(error).split("\n"))))


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, in the order given."""

    def __init__(self, *, lazy: Mapping[str, tuple[str, str]], **attributes: object) -> None:
        super().__init__(**attributes)  # type: ignore[arg-type]
        self._lazy = lazy  # name → (module:attribute, one line of help)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A typo is answered with what it may have been, also one floor further down."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}.{self._meant(ctx, name)}")
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, name: str) -> str:
        from difflib import get_close_matches

        known = {f"{ctx.command_path} {own}": own for own in self._lazy}
        for own in self._lazy:
            group = self.get_command(ctx, own)
            if isinstance(group, click.Group):
                below = group.list_commands(ctx)
                known |= {f"{ctx.command_path} {own} {command}": command for command in below}
        near = get_close_matches(name, known.values(), n=1)
        paths = [path for path, command in known.items() if command in near]
        return f" Did you mean `{paths[0]}`?" if paths else ""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; a reader that has seen enough is no failure, as click would have it."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            close_stdout()
            return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click does it, without importing every command for its line of help."""
        from click.shell_completion import CompletionItem

        named = ((name, line) for name, (_, line) in self._lazy.items())
        items = [CompletionItem(name, help=line) for name, line in named]
        found = [item for item in items if item.value.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._lazy.items()])


def _complete_flags(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from aurora.cli.completion import complete_flags

    return complete_flags(ctx, param, incomplete)


_HELP = {"help_option_names": ["-h", "--help"]}

mem = LazyGroup(
    name="mem",
    help="Index, search and look into the memory.",
    context_settings=_HELP,
    lazy={
        "index": ("aurora.cli.index:index", "Read files into the memory."),
        "watch": ("aurora.cli.index:watch", "Keep the memory fresh while files change."),
        "search": ("aurora.cli.search:search", "Find chunks by words."),
        "get": ("aurora.cli.inspect:get", "Print one chunk."),
        "add": ("aurora.cli.remember:add", "Remember documents."),
        "learn": ("aurora.cli.remember:learn", "Remember a pattern that worked."),
        "forget": ("aurora.cli.remember:forget", "Remove chunks for good."),
        "export": ("aurora.cli.export:export", "Write the whole memory to a file or a pipe."),
        "import": ("aurora.cli.export:import_", "Take in what another memory exported."),
        "copy": ("aurora.cli.export:copy", "Copy a memory to or from a server or a file."),
        "reembed": ("aurora.cli.index:reembed", "Make the vectors anew, by another model."),
        "stats": ("aurora.cli.inspect:stats", "Tell what the memory holds."),
        "repair": ("aurora.cli.inspect:repair", "Take out what is damaged."),
        "rebuild-bm25": ("aurora.cli.inspect:rebuild_bm25", "Build the keyword index anew."),
    },
)

db = LazyGroup(
    name="db",
    help="Set up and look after the database of a memory on a server.",
    context_settings=_HELP,
    lazy={
        "init": ("aurora.cli.db:init", "Make a memory on a PostgreSQL server."),
        "migrate": ("aurora.cli.db:migrate", "Bring its tables up to date."),
        "scrub": ("aurora.cli.db:scrub", "Overwrite what was removed."),
        "status": ("aurora.cli.db:status", "Tell how the database is."),
        "import-aurorakb": ("aurora.cli.index:import_aurorakb", "Take in AuroraKB's documents."),
    },
)

models = LazyGroup(
    name="models",
    help="Get, list and remove embedding models.",
    context_settings=_HELP,
    lazy={
        "list": ("aurora.cli.models:list_", "Tell which models are known and installed."),
        "pull": ("aurora.cli.models:pull", "Get a model."),
        "remove": ("aurora.cli.models:remove", "Delete an installed model."),
    },
)

cli = LazyGroup(
    name="aur",
    help="Aurora: one memory for a developer and the agents beside them.",
    epilog="""\b
Examples:
  aur mem index .                       read this project
  aur mem search "parse the config"     find by words
  aur mem search getUserData --limit 3  find an identifier
  aur mem get src/app.py:main           print what was found
  aur config set search.bm25.k1 1.2     change a setting""",
    context_settings=_HELP,
    lazy={
        "init": ("aurora.cli.index:init", "Start a memory for this project."),
        "mem": ("aurora.cli.main:mem", "Index, search and look into the memory."),
        "db": ("aurora.cli.main:db", "Set up and look after a memory on a server."),
        "models": ("aurora.cli.main:models", "Get, list and remove embedding models."),
        "mcp": ("aurora.cli.mcp:mcp", "Serve the memory to agents."),
        "eval": ("aurora.cli.eval:eval_", "Tell how good searches are."),
        "config": ("aurora.cli.settings:config", "Read and change settings."),
        "adopt": ("aurora.cli.db:adopt", "Take over a memory that somebody else made."),
        "doctor": ("aurora.cli.doctor:doctor", "Tell whether everything is well."),
        "completion": ("aurora.cli.completion:completion", "Print a shell's completion script."),
    },
)
cli = click.version_option(package_name="aurora-memory", prog_name="aur")(cli)
cli = click.option(
    "-c", "flags", metavar="KEY=VALUE", multiple=True, expose_value=False, is_eager=True,
    callback=lambda ctx, _, values: ctx.meta.update({"aurora.flags": values}),
    shell_complete=_complete_flags,
    help="Set a setting for this command alone; may be repeated.",
)(cli)  # fmt: skip


def main() -> NoReturn:
    """Run a command. 0: it did what was asked; 1: only some of it; 2: nothing, and said why."""
    logging.getLogger("aurora").addHandler(logging.NullHandler())  # quiet until there is a file
    prepare_streams()
    if os.environ.get(_COMPLETE):
        _answer_shell()
    try:
        status = cli.main(prog_name="aur", standalone_mode=False)
    except AuroraError as exc:
        if not isinstance(exc, (ChunkNotFoundError, QueryError)):  # which repeat what was typed
            logger.error("%s", exc.message)  # noqa: TRY400 - expected: the message is enough
        _fail(Failure(exc))
    except click.ClickException as exc:
        _fail(exc)
    except (click.Abort, KeyboardInterrupt) as exc:
        # click wraps the interrupt; in it a command may say what became of its work.
        click.echo(f"Interrupted. {exc.__cause__ or exc}".rstrip(), err=True)
        sys.exit(_INTERRUPTED)
    except ImportError as exc:
        logger.exception("a library cannot be imported")
        hint = "install Aurora anew, or what `aur doctor` finds missing"
        _fail(Failure(AuroraError(f"A library cannot be imported: {exc}", hint=hint)))
    except Exception as exc:
        if trouble := trouble_of_stdout():
            _fail(Failure(trouble))
        logger.exception("unexpected error")
        click.echo(f"Error: unexpected: {exc!r}\n\nhint: the log file has the details", err=True)
        sys.exit(2)
    sys.exit(status or 0)  # click returns what a command has ended with


def _answer_shell() -> NoReturn:
    """Tell a shell what could come next. Its prompt is no place for an error."""
    try:
        import aurora.cli.completion  # noqa: F401 - click asks the classes that it registers

        cli.main(prog_name="aur", standalone_mode=False)  # ends the program
    except Exception as exc:
        logger.debug("nothing to complete: %r", exc)
    sys.exit(1)


def _fail(exc: click.ClickException) -> NoReturn:
    exc.show()
    sys.exit(2)
