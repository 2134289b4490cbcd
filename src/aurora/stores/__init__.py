"""Where chunks are kept: the one truth of a memory."""
