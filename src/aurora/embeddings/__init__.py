"""Texts into vectors that lie close together when the texts mean something similar."""
