"""Values into text for people. Knows only types: no store, no settings, no terminal."""
