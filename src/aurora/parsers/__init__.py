"""Split documents into chunks. `registry` maps a file suffix to its parser."""
