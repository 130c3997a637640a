"""When people are to be woken: what rings, for how long it must hold, and whom it reaches."""
