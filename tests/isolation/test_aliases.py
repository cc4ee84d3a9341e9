"""Types that are declared by an alias."""

from __future__ import annotations

import types
import typing

import numpy as np
from numpy.typing import NDArray

from metalbench.sandbox.encoding import decode, encode


class _Alias:
    """As `type Arrays[T] = ...` makes one, which the grammar of Python has from 3.12 on."""

    __value__ = NDArray[typing.TypeVar("T", bound=np.generic)]  # type: ignore[misc]


def test_an_alias_is_replaced_by_its_meaning() -> None:
    declared = types.GenericAlias(_Alias(), (np.float64,))  # type: ignore[arg-type]
    values = np.arange(3.0)
    np.testing.assert_array_equal(decode(encode(values, declared), declared), values)
