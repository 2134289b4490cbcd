"""What the programs that agents run in must know of the server. Nothing here needs the SDK."""
