"""The door for people: words in, words out. A command checks, calls the engine, renders."""
