"""A language model that expands queries and reranks results."""
