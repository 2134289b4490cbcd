"""Signals: reasons to prefer one chunk to another."""
