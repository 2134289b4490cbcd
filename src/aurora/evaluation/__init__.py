"""How good searches are: labelled sets, throw-away memories, metrics and comparisons."""
