"""How this Aurora was installed, and the commands that add an extra, upgrade it or repair it.

A message that says "install this" must fit: `pip` cannot change what pipx or uv installed. Each of
them leaves a file in the environment of a program, by which it is recognised. These files are read
only for a message: every start imports this module.
"""

from __future__ import annotations

import re
import sys
from enum import Enum
from pathlib import Path
from shlex import quote

from aurora.lazy_patterns import lazy_pattern

NAME = "aurora-memory"
_EPHEMERAL = lazy_pattern(r"(archive|builds|environments)-v\d+")  # folders of uv's cache
_EXTRAS = lazy_pattern(r"\[([^\]]*)\]")


class Installer(Enum):
    """Its value is the command that installs a requirement."""

    PIP = "pip install"
    UV_PIP = "uv pip install"  # an environment of uv has no pip
    PIPX = "pipx install --force"
    UV_TOOL = "uv tool install"
    UVX = "uvx --from"
    HOMEBREW = "brew"


def find_installer(prefix: Path) -> Installer:
    """What made the environment in this folder, `sys.prefix` of its Python."""
    if (prefix / "pipx_metadata.json").is_file():  # first: pipx may use uv
        return Installer.PIPX
    if (prefix / "uv-receipt.toml").is_file():
        return Installer.UV_TOOL
    if _EPHEMERAL.fullmatch(prefix.parent.name):
        return Installer.UVX
    if "Cellar" in prefix.parts:
        return Installer.HOMEBREW
    is_by_uv = re.search(r"^uv\s*=", _read(prefix / "pyvenv.cfg"), re.MULTILINE)
    return Installer.UV_PIP if is_by_uv else Installer.PIP


def install_command(extra: str, prefix: Path | None = None, *, source: str | None = None) -> str:
    """The command that adds an extra, and keeps those that are installed.

    `prefix` is the environment, `source` the address that was installed, empty for an index; both
    are found by themselves.
    """
    prefix = prefix or Path(sys.prefix)
    installer = find_installer(prefix)
    requirement = quote(_requirement(installer, prefix, extra, source))
    if installer is Installer.UVX:
        return f"uvx --from {requirement} aur"
    if installer is Installer.HOMEBREW:  # a formula has no extras
        return f"brew uninstall {NAME} && pipx install {requirement}"
    return f"{installer.value} {requirement}"


def lasting_command(prefix: Path | None = None, *, source: str | None = None) -> tuple[str, ...]:
    """The words that start this Aurora later, where the path of its program does not last: uv may
    remove an environment of `uvx` at any time. Empty elsewhere."""
    prefix = prefix or Path(sys.prefix)
    if find_installer(prefix) is not Installer.UVX:
        return ()
    return "uvx", "--from", _requirement(Installer.UVX, prefix, "mcp", source), "aur"


def upgrade_command(prefix: Path | None = None) -> str:
    """The command that installs the newest version."""
    installer = find_installer(prefix or Path(sys.prefix))
    commands = {
        Installer.PIPX: f"pipx upgrade {NAME}",
        Installer.UV_TOOL: f"uv tool upgrade {NAME}",
        Installer.UVX: f"uvx --refresh --from {NAME} aur",
        Installer.HOMEBREW: f"brew upgrade {NAME}",
    }
    return commands.get(installer, f"{installer.value} --upgrade {NAME}")


def repair_command(
    package: str = NAME, prefix: Path | None = None, *, source: str | None = None
) -> str:
    """The command that installs the files of a package again, or those of all packages."""
    prefix = prefix or Path(sys.prefix)
    installer = find_installer(prefix)
    requirement = quote(_requirement(installer, prefix, "", source))
    commands = {
        Installer.UV_PIP: f"uv pip install --reinstall {package}",
        Installer.PIPX: f"pipx reinstall {NAME}",
        Installer.UV_TOOL: f"uv tool install --reinstall {requirement}",
        Installer.UVX: f"uvx --refresh --from {requirement} aur",
        Installer.HOMEBREW: f"brew reinstall {NAME}",
    }
    return commands.get(installer, f"pip install --force-reinstall {package}")


def _requirement(installer: Installer, prefix: Path, extra: str, source: str | None) -> str:
    """Aurora with its recorded extras and another one."""
    extras = sorted({*_recorded_extras(installer, prefix), extra} - {""})
    wanted = f"{NAME}[{','.join(extras)}]" if extras else NAME
    if installer in (Installer.PIPX, Installer.UV_TOOL, Installer.UVX):  # they start anew
        source = _installed_source() if source is None else source
        wanted = f"{wanted} @ {source}" if source else wanted
    return wanted


def _recorded_extras(installer: Installer, prefix: Path) -> list[str]:
    """The extras that the environment was made with: installing it anew would drop them."""
    import json  # noqa: PLC0415
    import tomllib  # noqa: PLC0415

    try:
        if installer is Installer.UV_TOOL:
            receipt = tomllib.loads(_read(prefix / "uv-receipt.toml"))
            [own] = [each for each in receipt["tool"]["requirements"] if each["name"] == NAME]
            return list(own.get("extras", ()))
        if installer is Installer.PIPX:
            main = json.loads(_read(prefix / "pipx_metadata.json"))["main_package"]
            match = _EXTRAS.search(main["package_or_url"])
            return match[1].split(",") if match else []
    except (ValueError, KeyError, TypeError):  # of a version that writes it otherwise
        pass
    return []


def _installed_source() -> str:
    """The address of the wheel, folder or repository that was installed (PEP 610); empty if an
    index gave it."""
    import json  # noqa: PLC0415
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        origin = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
        repository = origin.get("vcs_info", {}).get("vcs", "")
        return f"{repository}+{origin['url']}" if repository else str(origin.get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError, KeyError):
        return ""


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
