"""From files to the store."""
