"""How Aurora's own model is made; no part of the installed package. README.md has the commands."""
