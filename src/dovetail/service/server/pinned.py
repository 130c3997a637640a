"""The scripts of others that pages run, pinned by hash: a browser runs no other bytes, and a test compares
the files with what is written here."""

from __future__ import annotations

PINNED = {
    "htmx-4.0.1.min.js": "sha384-Qp9rdC8H7EqOoX+nR0P3RPG2Noji+qdwJlGpfzwQJsfOpp3sGwIdSP9xO3+UlEhn",
    "uplot-1.6.32.min.js": "sha384-Gx3t0zdBAuQOuvvmaLZj7HKEiSgWTAs+VdtNY7wt19QDPTDQjFIwAuXDj0zeN00c",
    "uplot-1.6.32.min.css": "sha384-IfV0B7MIOYuO95kO9G5ySKPz/85zqFNOAs8iy4tkK5zd9izhJAB8b7lHrwYqqmYE",
}
