"""Sentences for people."""
