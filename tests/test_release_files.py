"""The files that a release needs beside code fit the code: image, formula, workflows, citation.

`make lint-release` checks them with the linters of their formats.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import pytest
import tree_sitter
import tree_sitter_ruby
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMULA = (ROOT / "packaging" / "homebrew" / "aurora-memory.rb").read_text("utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
MACOS = {"sys_platform": "darwin", "platform_system": "Darwin", "python_version": "3.13"}


def load(file: Path) -> Any:
    return YAML(typ="safe").load(file)


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): release for name, release in pairs}


# The image


def test_what_the_image_copies_exists_and_is_sent_to_docker() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    sources = [
        word.rstrip("/")
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for word in line.split()[:-1]
    ]
    assert sources
    assert [name for name in sources if not (ROOT / name).exists()] == []
    assert ignored[0] == "*"
    assert sent == set(sources)


def test_the_image_installs_extras_that_there_are_and_does_not_run_as_root() -> None:
    [extras] = re.findall(r"'\.\[(.+)\]'", DOCKERFILE)
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    [user] = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert int(user) > 0


# The formula


def test_the_formula_is_ruby() -> None:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_ruby.language()))
    root = parser.parse(FORMULA.encode()).root_node
    assert not root.has_error
    assert [node.type for node in root.children] == ["comment", "class"]


def test_the_formula_has_every_package_at_the_version_that_is_tested() -> None:
    """After a change of dependencies: `make formula`."""
    resources = dict(re.findall(r'resource "(.+)" do\n +url ".+/(.+)\.(?:tar\.gz|zip)"', FORMULA))
    others = set(re.findall(r'depends_on "([\w-]+)"$', FORMULA, re.MULTILINE))
    wanted = set(needed(["mcp", "watch"]))
    assert resources.keys() <= wanted
    beside = {"annotated-types", "pydantic-core", "typing-extensions", "typing-inspection"}
    assert wanted - resources.keys() - others == beside  # they come with Homebrew's pydantic
    versions = {name: file.rpartition("-")[2] for name, file in resources.items()}
    assert versions == {name: pinned()[name] for name in resources}


def needed(extras: list[str]) -> Iterator[str]:
    """All packages of an installation with these extras on macOS."""
    seen: set[str] = set()
    waiting = [("aurora-memory", extra) for extra in ["", *extras]]
    while waiting:
        name, extra = waiting.pop()
        for text in requires(name) or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if (marker is None and extra) or (
                marker and not marker.evaluate({**MACOS, "extra": extra})
            ):
                continue
            package = canonicalize_name(requirement.name)
            if package not in seen:
                seen.add(package)
                waiting += [(package, inner) for inner in ["", *requirement.extras]]
    yield from seen


# The workflows


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_an_action_is_named_by_its_commit_and_may_read_only(file: Path) -> None:
    text = file.read_text("utf-8")
    actions = re.findall(r"uses: (\S+)@(\S+)", text)
    assert actions
    moving = {name for name, ref in actions if not re.fullmatch(r"[0-9a-f]{40}", ref)}
    assert moving <= {"pypa/gh-action-pypi-publish"}
    assert load(file)["permissions"] == {"contents": "read"}


def test_the_core_tests_run_on_every_supported_python_and_system() -> None:
    matrix = load(ROOT / ".github/workflows/test.yml")["jobs"]["core"]["strategy"]["matrix"]
    classified = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert matrix["python"] == classified
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_workflows_run_targets_that_there_are() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    steps = [
        step["run"]
        for file in WORKFLOWS
        for job in load(file)["jobs"].values()
        for step in job["steps"]
        if step.get("run", "").startswith("make ")
    ]
    targets = {word for step in steps for word in step.split()[1:]}
    assert {"dist", "sbom", "test"} <= targets
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_publishing_needs_no_password_and_a_person() -> None:
    publish = load(ROOT / ".github/workflows/release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert [step for step in publish["steps"] if "password" in step.get("with", {})] == []


# The rest


def test_the_citation_names_this_version() -> None:
    citation = load(ROOT / "CITATION.cff")
    assert citation["version"] == PROJECT["version"] == version("aurora-memory")
    assert citation["license"] == PROJECT["license"]


def test_forms_ask_for_something() -> None:
    for file in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        if file.name != "config.yml":
            ids = [each["id"] for each in load(file)["body"] if each["type"] != "markdown"]
            assert len(ids) == len(set(ids)) >= 2, file.name
