"""The door for a person's browser: `aur ui` serves a page over the engine, on this machine only."""
