"""What joins by any condition share: bands in conditions, numbers in order, conditions for the compiler."""
