"""Arithmetic with embeddings."""

import math


def cosine(left, right):
    """Similarity of two vectors, from -1 to 1."""
    length = math.hypot(*left) * math.hypot(*right)
    return sum(a * b for a, b in zip(left, right, strict=True)) / length if length else 0.0


def nearest_vectors(query, vectors, limit):
    """A brute-force search algorithm: compare with every vector, keep the best."""
    order = sorted(range(len(vectors)), key=lambda row: -cosine(query, vectors[row]))
    return order[:limit]
