"""Records of a topic, many at a time: out of the client's memory, and out of JSON."""
