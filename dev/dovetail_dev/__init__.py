"""Commands for developers of Dovetail: `dovetail test` and `dovetail bench`. They need the checkout around
them, so they are not part of the wheel; the command line finds them by their place."""
