"""Where a home may lie: on this machine, or in an object store."""
