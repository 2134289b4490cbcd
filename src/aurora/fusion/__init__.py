"""Combining rankings: pure functions from what the signals say to one order."""
