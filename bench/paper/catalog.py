"""All papers, in the order of the product's parts."""

from __future__ import annotations

from bench.paper import facebook, handshake, intra_window, splitjoin

PAPERS = (facebook.PAPER, splitjoin.PAPER, handshake.PAPER, intra_window.PAPER)
