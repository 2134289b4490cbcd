"""Which commits last touched which lines: `git blame` for a whole repository at once."""
