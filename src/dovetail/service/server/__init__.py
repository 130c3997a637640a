"""The daemon: API and portal over the documents of a home. The web framework is imported here only."""
