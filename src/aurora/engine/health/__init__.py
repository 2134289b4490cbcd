"""Whether everything is well: the program, its optional parts, the memory and the settings.

A check is a small function that yields findings; each area has a table of them. A check that goes
wrong is a finding, too: an examination always comes to its end. It changes nothing.
"""

from aurora.engine.health.memory import examine_memory
from aurora.engine.health.parts import examine_parts
from aurora.engine.health.program import examine_program
from aurora.engine.health.settings import OnlyDefaults, examine_settings

__all__ = [
    "OnlyDefaults",
    "examine_memory",
    "examine_parts",
    "examine_program",
    "examine_settings",
]
