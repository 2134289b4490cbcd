"""What the doors over HTTP share: the open memories, and a server with bounded connections."""
