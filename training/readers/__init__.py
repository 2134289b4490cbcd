"""What is read out of packages: pairs of what is asked for and what answers."""
