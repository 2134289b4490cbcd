"""A home with agents, a project, and installing there: what the tests of this folder share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aurora.install.clients import Scope
from aurora.install.known_agents import AGENTS, PARTS, Person, additions_for
from aurora.install.manifest import Manifest, load, locked
from aurora.install.plan import Plan, carry_out, plan_install, plan_uninstall
from tests.builders import write_tree

COMMAND = ("/opt/aurora/bin/aur",)


@dataclass
class Machine:
    """The folders of a person; `memory` is Aurora's own."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    @property
    def memory(self) -> Path:
        return self.folder / "aurora"

    @property
    def person(self) -> Person:
        return Person(self.home, self.environ, self.project)

    @property
    def manifest(self) -> Manifest:
        return load(self.memory)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Files of the home, or of the project if their path begins with `shop/`."""
        for name, content in files.items():
            root = self.folder if name.startswith("shop/") else self.home
            write_tree(root, {name: content})

    def plan(
        self,
        *agents: str,
        scope: Scope = Scope.USER,
        command: tuple[str, ...] = COMMAND,
        parts: tuple[str, ...] = PARTS,
    ) -> Plan:
        names = agents or tuple(AGENTS)
        wanted = [
            each
            for name in names
            for each in additions_for(name, self.person, scope, command, set(parts))
        ]
        return plan_install(
            wanted, self.manifest, agents=set(names), scope=scope, project=self.project
        )

    def install(self, *agents: str, **options: object) -> Plan:
        with locked(self.memory):
            plan = self.plan(*agents, **options)  # type: ignore[arg-type]
            carry_out(plan, self.memory, self.manifest)
        return plan

    def uninstall(self, *agents: str) -> Plan:
        with locked(self.memory):
            plan = plan_uninstall(self.manifest, lambda _: True, set(agents))
            carry_out(plan, self.memory, self.manifest)
        return plan

    def picture(self) -> dict[str, object]:
        """Every folder, file and link of home and project, with content and mode."""
        found: dict[str, object] = {}
        for root in (self.home, self.project):
            for path in sorted(root.rglob("*")):
                name = path.relative_to(self.folder).as_posix()
                if path.is_symlink():
                    found[name] = str(path.readlink())
                elif path.is_dir():
                    found[name] = path.stat().st_mode
                else:
                    found[name] = (path.stat().st_mode, path.read_bytes())
        return found


def make_machine(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Machine:
    machine = Machine(folder)
    machine.home.mkdir(parents=True)
    machine.project.mkdir()
    machine.write(files or {})
    return machine
