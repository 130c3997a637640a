"""How long a core that finds nothing to do keeps trying: it gives way, then dozes, then asks to be called
again."""

from __future__ import annotations

from dovetail.kernels.flags import inner_borrowing_kernel
from dovetail.sliding.kernels.atomic import doze_us, give_way

SPINS, DOZES = 4000, 300  # some milliseconds, in which a row is taken at once; then, more and more lazily
FOR_LONG = -1  # a budget: as much as there is to do


@inner_borrowing_kernel
def pause(idle: int) -> bool:
    """After `idle` looks in vain; whether to look again."""
    if idle < SPINS:
        give_way()
    elif idle < SPINS + DOZES:
        doze_us(min(5 * (idle - SPINS), 1000))
    else:
        return False
    return True
