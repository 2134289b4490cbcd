"""The `aur` command: the table of its commands, its streams and its exit status.

A command's module is imported when the command runs, so `aur --help` imports none of them.
"""

from __future__ import annotations

import importlib
import io
import logging
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, cast

import click

from aurora.errors import AuroraError, ChunkNotFoundError, QueryError, SourceError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from click.shell_completion import CompletionItem

logger = logging.getLogger(__name__)

_COMPLETE = "_AUR_COMPLETE"  # set by the scripts of `aur completion`
_INTERRUPTED = 130  # the status that shells expect after Ctrl-C
_BACKGROUND = "aurora"  # the name of background threads, see `aurora.concurrency`


def _load(place: str) -> Any:
    """Import `module:attribute` of this package when it is needed."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(f"aurora.cli.{module}"), attribute)


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is used."""

    def __init__(self, *, lazy: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._lazy = lazy  # name → (module:attribute, one line of help)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _load(self._lazy[cmd_name][0]) if cmd_name in self._lazy else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; the error for a typo suggests a command, also one of a subgroup."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}.{self._suggestion(ctx, name)}")
        return super().resolve_command(ctx, args)

    def _suggestion(self, ctx: click.Context, name: str) -> str:
        from difflib import get_close_matches

        commands = {f"{ctx.command_path} {own}": own for own in self._lazy}
        for own in self._lazy:
            group = self.get_command(ctx, own)
            if isinstance(group, click.Group):
                inner = group.list_commands(ctx)
                commands |= {f"{ctx.command_path} {own} {command}": command for command in inner}
        nearest = get_close_matches(name, commands.values(), n=1)
        paths = [path for path, command in commands.items() if command in nearest]
        return f" Did you mean `{paths[0]}`?" if paths else ""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. A closed pipe (`aur … | head`) is not a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            close_stdout()
            return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click does it, but with the help lines of the table instead of every import."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=line)
            for name, (_, line) in self._lazy.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._lazy.items()])


mem = LazyGroup(
    name="mem",
    help="Index, search and look into the memory.",
    lazy={
        "index": ("index:index", "Read files into the memory."),
        "watch": ("index:watch", "Keep the memory fresh while files change."),
        "search": ("search:search", "Find chunks by words."),
        "get": ("inspect:get", "Print one chunk."),
        "add": ("remember:add", "Remember documents."),
        "learn": ("remember:learn", "Remember a pattern that worked."),
        "history": ("inspect:history", "Show all versions of a document or lesson."),
        "why": ("why_how_fix:why", "Show the commits and sessions behind a file or line."),
        "how": ("why_how_fix:how", "Show when a command last worked, and how."),
        "fix": ("why_how_fix:fix", "Show what mended an error."),
        "forget": ("remember:forget", "Remove chunks for good."),
        "export": ("export:export", "Write the whole memory to a file or a pipe."),
        "import": ("export:import_", "Import what another memory exported."),
        "copy": ("export:copy", "Copy a memory to or from a server or a file."),
        "improve": ("improving:improve", "Make the better vectors that were left to later."),
        "reembed": ("index:reembed", "Rebuild the vectors with another model."),
        "stats": ("inspect:stats", "Show what the memory holds."),
        "repair": ("inspect:repair", "Repair a damaged memory."),
        "rebuild-bm25": ("inspect:rebuild_bm25", "Rebuild the keyword index."),
    },
)

db = LazyGroup(
    name="db",
    help="Set up and look after the database of a memory on a server.",
    lazy={
        "init": ("db:init", "Create a memory on a PostgreSQL server."),
        "grant": ("db:grant", "Let another role read or write it."),
        "revoke": ("db:revoke", "Take the rights of a role away."),
        "checkouts": ("db:checkouts", "List the worktrees or people that share it."),
        "migrate": ("db:migrate", "Bring its tables up to date."),
        "scrub": ("db:scrub", "Overwrite what was removed."),
        "status": ("db:status", "Show the state of the database."),
        "import-aurorakb": ("index:import_aurorakb", "Import the documents of an AuroraKB."),
    },
)

models = LazyGroup(
    name="models",
    help="Get, list and remove embedding models.",
    lazy={
        "list": ("models:list_", "List the known and installed models."),
        "pull": ("models:pull", "Get a model."),
        "remove": ("models:remove", "Delete an installed model."),
    },
)

sessions = LazyGroup(
    name="sessions",
    help="Find, import, show and forget the sessions of your agents.",
    lazy={
        "scan": ("sessions:scan", "Show what lies on this machine; store nothing."),
        "import": ("sessions:import_", "Keep the sessions of agents in your own memory."),
        "list": ("sessions:list_", "List the stored sessions."),
        "show": ("sessions:show", "Print a session, exchange by exchange."),
        "forget": ("sessions:forget", "Remove sessions for good."),
    },
)

cli = LazyGroup(
    name="aur",
    context_settings={"help_option_names": ["-h", "--help"]},  # of all commands
    help="Aurora: one memory for a developer and the agents beside them.",
    epilog="""\b
Examples:
  aur index                             read this project
  aur search "parse the config"         find by words
  aur search getUserData --limit 3      find an identifier
  aur mem get src/app.py:main           print what was found
  aur mem get src/app.py:12             print what is at a line
  aur config set search.bm25.k1 1.2     change a setting""",
    lazy={
        "init": ("index:init", "Start a memory for this project."),
        "index": ("index:index", "Read files into the memory; short for aur mem index."),
        "search": ("search:search", "Find chunks by words; short for aur mem search."),
        "recall": ("inspect:recall", "Show what an agent is told, and when it is told nothing."),
        "mem": ("main:mem", "Index, search and look into the memory."),
        "db": ("main:db", "Set up and look after a memory on a server."),
        "models": ("main:models", "Get, list and remove embedding models."),
        "sessions": ("main:sessions", "Keep the sessions of your agents."),
        "install": ("install:install", "Connect the agents of this machine with Aurora."),
        "uninstall": ("install:uninstall", "Take Aurora out of the agents again."),
        "mcp": ("mcp:mcp", "Serve the memory to agents."),
        "ui": ("ui:ui", "Open a page in the browser that shows the memory."),
        "hook": ("hook:hook", "Answer an event of an agent; agents call it."),
        "savings": ("savings:savings", "Show what agents asked and were given."),
        "eval": ("eval:eval_", "Measure the quality of searches."),
        "config": ("settings:config", "Read and change settings."),
        "workspace": ("workspace:workspace", "Search several repositories together."),
        "adopt": ("db:adopt", "Take over a memory that another user made."),
        "doctor": ("doctor:doctor", "Check the program, the memory and the settings."),
        "completion": ("completion:completion", "Print a shell's completion script."),
    },
)
cli = click.version_option(package_name="aurora-memory", prog_name="aur")(cli)
cli = click.option(
    "-c", "flags", metavar="KEY=VALUE", multiple=True, expose_value=False, is_eager=True,
    callback=lambda ctx, _, values: ctx.meta.update({"aurora.flags": values}),
    shell_complete=lambda *typed: _load("completers:complete_flags")(*typed),  # noqa: PLW0108
    help="Set a setting for this command alone; may be repeated.",
)(cli)  # fmt: skip


def main() -> NoReturn:
    """Run a command. Exits with 0 for success, 1 for a part of it, 2 for an error."""
    try:
        _run()
    except SystemExit as exc:
        _end_beside_threads(exc.code)
        raise


def _run() -> NoReturn:
    logging.getLogger("aurora").addHandler(logging.NullHandler())  # until there is a log file
    prepare_streams()
    if os.environ.get(_COMPLETE):
        _answer_shell()
    try:
        status = cli.main(prog_name=_command_name(sys.argv[0]), standalone_mode=False)
    except AuroraError as exc:
        if not isinstance(exc, (ChunkNotFoundError, QueryError)):  # these repeat the user's words
            logger.error("%s", exc.message)  # noqa: TRY400 - expected: the message is enough
        _fail(exc)
    except click.ClickException as exc:
        exc.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt) as exc:
        # click wraps the interrupt, and a command may put a sentence into it.
        click.echo(f"Interrupted. {exc.__cause__ or exc}".rstrip(), err=True)
        sys.exit(_INTERRUPTED)
    except ImportError as exc:
        logger.exception("a library cannot be imported")
        hint = "install Aurora again, or install what `aur doctor` reports as missing"
        _fail(AuroraError(f"A library cannot be imported: {exc}", hint=hint))
    except Exception as exc:
        if error := stdout_error():
            _fail(error)
        logger.exception("unexpected error")
        click.echo(f"Error: unexpected: {exc!r}\n\nhint: the log file has the details", err=True)
        sys.exit(2)
    sys.exit(status or 0)  # click returns the status that a command ended with


def _command_name(program: str) -> str:
    """`aurora` for people who start it by its second name; `aur` also for `python -m aurora`."""
    return "aurora" if PurePath(program).stem == "aurora" else "aur"


def _fail(error: AuroraError) -> NoReturn:
    from aurora.text import printable  # `aur --help` does not need it

    click.ClickException("\n".join(map(printable, str(error).split("\n")))).show()
    sys.exit(2)


def _answer_shell() -> NoReturn:
    """Print completions for a shell. Errors are not shown: the user's prompt is there."""
    try:
        _load("completion:completion")  # registers the shells with click
        cli.main(prog_name="aur", standalone_mode=False)  # ends the program
    except Exception as exc:
        logger.debug("nothing to complete: %r", exc)
    sys.exit(1)


def _end_beside_threads(status: object) -> None:
    """End the process at once while a background thread runs: Python's own shutdown could crash
    under the thread."""
    if not any(thread.name == _BACKGROUND for thread in threading.enumerate()):
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        return  # Python reports it
    logging.shutdown()
    os._exit(status if isinstance(status, int) else 0)


def prepare_streams() -> None:
    """Make stdout replace letters that it cannot encode, and stderr ignore a closed pipe.

    A stream that was closed before the start (`2>&-`) is None.
    """
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


class IgnoreWriteErrors(io.RawIOBase):
    """Standard error whose reader may close it (`2>&1 | head`): the work continues."""

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


def close_stdout() -> None:
    """Redirect stdout to nowhere, or Python would report the same error again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stdout_error() -> SourceError | None:
    """The error to show when stdout cannot be written, such as on a full disk."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as exc:
        close_stdout()
        return SourceError(
            f"Standard output cannot be written: {exc.strerror}", hint="check the space left for it"
        )
    return None
