"""The operators of a plan as a picture: the graph, where its boxes go, and the SVG or text."""
