"""Writes the Homebrew formula: every package at the version of constraints.txt, from its source.

    make formula

uv finds the addresses and digests. The digest of Aurora itself is that of the source distribution
in `dist/`, which has the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FORMULA = Path(__file__).with_name("aurora-memory.rb")
PYTHON = "3.13"
EXTRAS = ("mcp", "watch")
# Homebrew has these, ready to use; most would take a compiler of C or Rust.
OF_HOMEBREW = {
    "numpy": "numpy", "cffi": "cffi", "cryptography": "cryptography", "pycparser": "pycparser",
    "pydantic": "pydantic", "pydantic-core": "pydantic", "rpds-py": "rpds-py",
    "annotated-types": "pydantic", "typing-extensions": "pydantic",
    "typing-inspection": "pydantic",
}  # fmt: skip

TEMPLATE = """\
# Written by packaging/homebrew/formula.py: `make formula`, which each release runs.
class AuroraMemory < Formula
  include Language::Python::Virtualenv

  desc "Memory for a developer and the AI agents that work beside them"
  homepage "https://pypi.org/project/aurora-memory/"
  url "https://files.pythonhosted.org/packages/source/a/aurora-memory/{file}"
  sha256 "{sha256}"
  license "MIT"

  depends_on "rust" => :build # uv_build, watchfiles
{dependencies}
  depends_on "python@{python}"

{resources}
  def install
    virtualenv_install_with_resources
  end

  test do
    (testpath/"app.py").write "def parse_config(path):\\n    return open(path).read()\\n"
    system bin/"aur", "init"
    system bin/"aur", "index", "--no-git"
    assert_match "parse_config", shell_output("#{{bin}}/aur search parse_config")
  end
end
"""
RESOURCE = """\
  resource "{name}" do
    url "{url}"
    sha256 "{sha256}"
  end
"""


class Source(NamedTuple):
    """The source distribution of a package."""

    name: str
    url: str
    sha256: str


def find_sources() -> Iterator[Source]:
    """Of all packages that the formula installs beside Aurora."""
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "compile", "pyproject.toml", "--quiet"),
            *("--format", "pylock.toml", "--constraints", "constraints.txt", *extras),
            *("--python-platform", "macos", "--python-version", PYTHON),
        ],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for package in tomllib.loads(done.stdout)["packages"]:
        source = package["sdist"]
        yield Source(package["name"], source["url"], source["hashes"]["sha256"])


def render(file: str, sha256: str, sources: list[Source]) -> str:
    own = [source for source in sources if source.name not in OF_HOMEBREW]
    others = sorted({OF_HOMEBREW[source.name] for source in sources if source not in own})
    return TEMPLATE.format(
        file=file,
        sha256=sha256,
        python=PYTHON,
        dependencies="\n".join(f'  depends_on "{name}"' for name in others),
        resources="\n".join(RESOURCE.format(**source._asdict()) for source in own),
    )


def main() -> None:
    [file] = (ROOT / "dist").glob("*.tar.gz")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    FORMULA.write_text(render(file.name, digest, list(find_sources())), encoding="utf-8")
    print(f"{FORMULA.relative_to(ROOT)}: {file.name}, sha256 {digest}")


if __name__ == "__main__":
    main()
