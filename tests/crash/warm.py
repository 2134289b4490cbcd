"""Imported by the process that others are forked from: they find everything loaded."""

from tests.crash.killing import import_all
from tests.crash.providers import load

import_all()
load()
