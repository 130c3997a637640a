"""What each kind of join is, as a value: one module for each, and what holds for all of them in `kind.py`."""
