"""Stream time and the order in which two streams advance: pure functions over commit summaries."""
