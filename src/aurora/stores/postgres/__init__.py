"""A memory in PostgreSQL with pgvector: one for a whole team."""
