"""The interval join: equal keys, event times within bounds."""
