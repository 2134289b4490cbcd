"""Reasons to prefer one chunk to another."""
