"""The embedding model that ships with Aurora; `training/` makes it."""
