"""Tables of lakes that are read as streams, one kind a file."""
