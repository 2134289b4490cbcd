"""Servers that are asked as OpenAI's are: where they are, with which key, and for how long."""
