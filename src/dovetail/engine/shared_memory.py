"""Law: a file in memory has the same bytes whatever pages it is mapped in; large pages only make it faster.

A probe of a large ring goes to a random place, and so does the processor's look at the page tables for it.
With pages of 4 KiB the tables of a hundred million rows are themselves larger than any cache, and a probe
waits twice. With pages of 2 MiB they fit.

Linux gives a tmpfs large pages by itself only where an administrator has switched that on. But it makes them
of existing pages when it is asked to (MADV_COLLAPSE, Linux 6.1), whatever is switched on. So we make one
small page of each 2 MiB, and ask for a large one in its place. Where the system has no large page to give,
small ones are made.

Large pages can be mapped as such only at addresses that are multiples of 2 MiB. Python's `mmap` cannot choose
an address, so we call the system's.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TMPFS = Path("/dev/shm")
LARGE_PAGE = 2 << 20
_PAGE = mmap.PAGESIZE
COLLAPSE = 25
_NO_ACCESS, _MAP_FIXED, _POPULATE_WRITE = 0, 0x10, 23  # like COLLAPSE, Python does not name them

Bytes = NDArray[np.uint8]


def reserve(path: Path, size: int) -> None:
    """Make a file of that size, all of whose blocks exist. Raises OSError if there is no room for them.

    A file that is only given its size has holes, and the disk (or tmpfs) is asked for a block when a kernel
    first writes there. If it is full by then, the write has no error to return: the process gets SIGBUS. Here
    it is an OSError, before any row has moved.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if _has_large_pages(path, size):
            os.truncate(descriptor, size)
            for start in range(0, size - LARGE_PAGE + 1, LARGE_PAGE):
                os.posix_fallocate(descriptor, start, _PAGE)
            _advise(_at_large_page(descriptor, size), size // LARGE_PAGE * LARGE_PAGE, COLLAPSE)
        os.posix_fallocate(descriptor, 0, size)  # whatever is still missing
    finally:
        os.close(descriptor)


def mapped(path: Path) -> Bytes:
    """A file in this process's memory. On tmpfs all of its pages are there at once: they exist, and to fault
    in each when a row first comes to it costs several times as much. On a disk this would read all of it."""
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if not _has_large_pages(path, size):
            memory: Any = mmap.mmap(file.fileno(), 0)
        else:
            memory = _at_large_page(file.fileno(), size)
    if path.is_relative_to(TMPFS):
        _advise(memory, size, _POPULATE_WRITE)
    return np.frombuffer(memory, np.uint8)


def _has_large_pages(path: Path, size: int) -> bool:
    return size >= LARGE_PAGE and path.is_relative_to(TMPFS) and hasattr(mmap, "MADV_HUGEPAGE")


def _at_large_page(descriptor: int, size: int) -> Any:
    """A shared mapping of a file that begins where a large page can. It is unmapped when nobody has it."""
    system = _system()
    reach = size + LARGE_PAGE
    # First any addresses, which nobody can use, then the file over them: no thread can come in between.
    found = system.mmap(None, reach, _NO_ACCESS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if found == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    start = -(-found // LARGE_PAGE) * LARGE_PAGE
    access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED
    if system.mmap(start, size, access, flags, descriptor, 0) != start:
        error = ctypes.get_errno()
        system.munmap(found, reach)
        raise OSError(error, os.strerror(error))
    memory = (ctypes.c_uint8 * size).from_address(start)
    # Arrays of this memory keep it. Not at exit, when threads may still be at work in it.
    weakref.finalize(memory, system.munmap, found, reach).atexit = False
    return memory


def _advise(memory: Any, size: int, advice: int) -> None:
    """Tell the system, which may not know this advice, or not be able to follow it: it is advice."""
    _system().madvise(np.frombuffer(memory, np.uint8).ctypes.data, size, advice)


@functools.cache
def _system() -> Any:
    system = ctypes.CDLL(None, use_errno=True)
    address, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    system.mmap.restype = address
    system.mmap.argtypes = [address, size, number, number, number, ctypes.c_long]
    system.munmap.argtypes = [address, size]
    system.madvise.argtypes = [address, size, number]
    return system
