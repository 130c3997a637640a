"""Applications that are kept running: what is wanted, what is seen, and what follows from the two."""
