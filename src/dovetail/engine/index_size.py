"""What the index of a task takes: now, and when it took most."""

from __future__ import annotations

from dovetail.joins.buffer import Buffer
from dovetail.joins.step_input import LiveState


def index_bytes(at: LiveState) -> int:
    return sum(buffer.bytes for buffer in _buffers(at))


def most_index_bytes(at: LiveState) -> int:
    """A ring that is nearly empty at the end of a step has shrunk by then."""
    return sum(buffer.most_bytes for buffer in _buffers(at))


def _buffers(at: LiveState) -> tuple[Buffer, Buffer, Buffer, Buffer]:
    return at.state.left, at.state.right, at.sample.left, at.sample.right
