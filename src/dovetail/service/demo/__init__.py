"""`dovetail demo`: two live streams, joined while you watch."""

from __future__ import annotations

APPLICATION = "search_quality"
