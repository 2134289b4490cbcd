"""`python -m aurora` is `aur`."""

from aurora.cli.start import main

main()
