"""The vocabulary: frozen values that every other folder speaks in. No I/O."""
