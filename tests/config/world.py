"""A user's home and a project in a temporary folder, with settings files as a test writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aurora.config import LoadedSettings, Places, SettingsFiles

USER = "~/.aurora/config.yml"
PROJECT = "~/code/.aurora/config.yml"

# Seed 000, Appendix C, as it stands there
APPENDIX_C = """\
# Aurora Configuration
version: "1.0"

# Search Configuration
search:
  # BM25 Parameters
  bm25:
    k1: 1.5          # Term frequency saturation (1.2-2.0 typical)
    b: 0.75          # Length normalization (0.0-1.0)

  # Hybrid Retrieval Parameters
  hybrid:
    stage1_top_k: 100         # Number of BM25 candidates for Stage 2
    stage2_weights:
      semantic: 0.5            # Semantic similarity weight (must sum to 1.0)
      activation: 0.5          # ACT-R activation weight

# UI Preferences
ui:
  shown_search_format_notice: true  # One-time migration notice shown
  default_search_format: "enhanced"  # "enhanced" or "legacy"
"""


@dataclass(frozen=True, slots=True)
class World:
    """`root` stands for the home directory, so that messages show paths below it with `~`."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / ".aurora"

    @property
    def project(self) -> Path:
        return self.root / "code"

    @property
    def user_file(self) -> Path:
        return self.home / "config.yml"

    @property
    def project_file(self) -> Path:
        return self.project / ".aurora" / "config.yml"

    def write(self, *, user: str | bytes | None = None, project: str | bytes | None = None) -> None:
        for file, content in ((self.user_file, user), (self.project_file, project)):
            if content is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.encode() if isinstance(content, str) else content)

    def files(
        self, environ: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
    ) -> SettingsFiles:
        return SettingsFiles(Places(self.home, self.project), environ or {}, flags or {})

    def load(
        self, environ: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
    ) -> LoadedSettings:
        return self.files(environ, flags).current()
