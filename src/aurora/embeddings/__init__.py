"""Embedding providers: texts into vectors that are close when the texts mean similar things."""
