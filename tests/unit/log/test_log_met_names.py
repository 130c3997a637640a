"""Which names a process has met: a name may be forgotten, but none is known that was never met."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.log.cache import MetNames


@given(met=st.sets(st.text()), others=st.sets(st.text()), slots=st.integers(1, 64))
def test_no_name_is_known_that_was_never_met(met: set[str], others: set[str], slots: int) -> None:
    names = MetNames(slots)
    for name in met:
        names.add(name)
        assert name in names, "the one that came last"
    assert not any(name in names for name in others - met)
    names.clear()
    assert not any(name in names for name in met)


def test_a_name_is_forgotten_only_for_another_one() -> None:
    names = MetNames(1 << 16)
    met = [f"{number:016x}" for number in range(1000)]
    for name in met:
        names.add(name)
    assert sum(name in names for name in met) > 980, "a thousand in 65,536 slots hardly meet each other"
