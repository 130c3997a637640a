"""Tables outside that streams are looked up in, one kind a file."""
