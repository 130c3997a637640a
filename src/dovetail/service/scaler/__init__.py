"""How many tasks a join should have: figures in, a decision with its reason out."""
