"""Alarms: their conditions, how long a condition must hold, and who is notified."""
