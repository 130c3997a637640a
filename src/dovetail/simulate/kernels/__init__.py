"""The loops of the simulator: rows through trees of servers, and through a chain with two directions."""
