"""The model itself: its pieces, its teachers, its training, its files."""
