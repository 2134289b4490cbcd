"""Where texts come from: the file system and git. Nothing else runs git or lists folders."""
