"""Aurora in agents: what `aur install` adds to their files, and `aur uninstall` takes out."""
