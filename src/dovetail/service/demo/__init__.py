"""`dovetail demo`: two live streams, joined before your eyes."""

from __future__ import annotations

APPLICATION = "search_quality"
