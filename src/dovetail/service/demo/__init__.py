"""`dovetail demo`: two live streams, joined before your eyes."""
