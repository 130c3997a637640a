"""A file for each kind of sink."""
