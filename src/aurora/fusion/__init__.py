"""Fusions: pure functions that combine the rankings of all signals into one order."""
