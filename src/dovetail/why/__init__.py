"""What became of a row, and why."""
