"""The driver's naps, on a clock set by hand: as long as a quarter of an inbox takes to empty."""

import pytest

from dovetail.sliding.room import LONGEST_S, SHORTEST_S, Room


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def naps(row_s: float, times: int = 20, inbox_rows: int = 1000) -> list[float]:
    clock = Clock()
    room = Room(inbox_rows, clock)
    found = []
    for _ in range(times):
        clock.now += 100 * row_s
        room.rows += 100
        found.append(room.nap_s())
    return found


def test_a_nap_is_a_quarter_of_an_inbox():
    assert naps(2e-6)[-1] == pytest.approx(250 * 2e-6, rel=0.01)


def test_naps_are_neither_too_short_nor_too_long():
    assert naps(1e-9)[-1] == SHORTEST_S
    assert naps(1.0)[-1] == LONGEST_S


def test_without_any_room_naps_grow():
    clock = Clock()
    room = Room(1000, clock)
    clock.now, room.rows = 1e-4, 100
    found = [room.nap_s() for _ in range(13)]
    assert found == sorted(found)
    assert found[-1] == LONGEST_S
