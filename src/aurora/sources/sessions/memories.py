"""The files in which agents keep what they remember, and what they are told to: documents.

Reading and cutting them is left to what reads notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aurora.quick_classes import dataclass
from aurora.sources.reading import Skipped
from aurora.sources.sessions.base import find_files, folder_of

_IN_HOME = {  # agent: folder's variable, its default, and files in it
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", ("CLAUDE.md",)),
    "codex": ("CODEX_HOME", ".codex", ("AGENTS.md", "AGENTS.override.md")),
    "gemini-cli": ("GEMINI_CLI_HOME", "", (".gemini/GEMINI.md",)),
    "copilot-cli": ("COPILOT_HOME", ".copilot", ("copilot-instructions.md",)),
    "opencode": ("XDG_CONFIG_HOME", ".config", ("opencode/AGENTS.md",)),
}
_IN_PROJECT = {  # file: agent; empty for what several agents read
    "CLAUDE.md": "claude-code",
    "CLAUDE.local.md": "claude-code",
    ".claude/CLAUDE.md": "claude-code",
    "AGENTS.md": "",
    "AGENTS.override.md": "codex",
    "GEMINI.md": "gemini-cli",
    ".github/copilot-instructions.md": "copilot-cli",
    ".cursorrules": "cursor",
    "CONVENTIONS.md": "aider",
}
_OWN_NOTES = "phase2_workspace_diff.md"  # of Codex: what its memories would look like


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file that an agent reads in each session, or writes for later ones.

    The agent is empty for a file that several agents read. A project is a folder, or the name that
    Claude Code makes of it; it is empty for what belongs to the person.
    """

    agent: str
    path: Path
    project: str = ""


def locate_memories(
    home: Path, environ: Mapping[str, str], projects: Sequence[Path] = ()
) -> list[MemoryFile | Skipped]:
    """List the memory files of all agents, in the home and in these projects."""
    return [*_in_home(home, environ), *_of_claude(home, environ), *_of_codex(home, environ),
            *_in_projects(projects)]  # fmt: skip


def _in_home(home: Path, environ: Mapping[str, str]) -> Iterator[MemoryFile]:
    for agent, (variable, folder, names) in _IN_HOME.items():
        root = folder_of(environ, variable, home / folder)
        yield from (MemoryFile(agent, root / name) for name in names if (root / name).is_file())


def _of_claude(home: Path, environ: Mapping[str, str]) -> Iterator[MemoryFile | Skipped]:
    """`projects/<folder>/memory/*.md`, of which MEMORY.md is the index."""
    root = folder_of(environ, "CLAUDE_CONFIG_DIR", home / ".claude") / "projects"
    wanted = find_files(root, lambda path: path.suffix == ".md" and "memory" in path.parts)
    for path in wanted:
        if isinstance(path, Skipped):
            yield path
        elif path.relative_to(root).parts[1] == "memory":
            yield MemoryFile("claude-code", path, path.relative_to(root).parts[0])


def _of_codex(home: Path, environ: Mapping[str, str]) -> Iterator[MemoryFile | Skipped]:
    root = folder_of(environ, "CODEX_HOME", home / ".codex") / "memories"
    for path in find_files(root, lambda path: path.suffix == ".md"):
        if isinstance(path, Skipped):
            yield path
        elif path.name != _OWN_NOTES and ".git" not in path.parts:
            yield MemoryFile("codex", path)


def _in_projects(projects: Sequence[Path]) -> Iterator[MemoryFile | Skipped]:
    for project in projects:
        for name, agent in _IN_PROJECT.items():
            if (project / name).is_file():
                yield MemoryFile(agent, project / name, str(project))
        for path in find_files(project / ".cursor" / "rules", lambda path: path.suffix == ".mdc"):
            yield path if isinstance(path, Skipped) else MemoryFile("cursor", path, str(project))
