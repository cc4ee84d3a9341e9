"""Memory between pages that fault."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_PAGE = mmap.PAGESIZE
_NOTHING = 0  # PROT_NONE


@contextmanager
def between_guard_pages(size: int, *, at_end: bool) -> Iterator[np.ndarray]:
    """Bytes with a page before or behind them that faults when it is touched."""
    pages = mmap.mmap(-1, 3 * _PAGE)
    libc = ctypes.CDLL(None, use_errno=True)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    for wall in (0, 2):
        where = ctypes.c_void_p(start + wall * _PAGE)
        assert libc.mprotect(where, ctypes.c_size_t(_PAGE), _NOTHING) == 0
    first = 2 * _PAGE - size if at_end else _PAGE
    array = np.frombuffer(pages, np.uint8, size, first)
    yield array
    libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(3 * _PAGE), mmap.PROT_READ)
