"""The plan of a `dovetail.join` call, from names of columns alone."""
