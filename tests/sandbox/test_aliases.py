"""Types that are declared by an alias."""

from __future__ import annotations

import types
import typing

import numpy as np
from numpy.typing import NDArray

from metalbench.sandbox.encoding import decode, encode


class _Alias:
    """An alias as `type Arrays[T] = ...` defines one, in Python 3.12 and later."""

    __value__ = NDArray[typing.TypeVar("T", bound=np.generic)]  # type: ignore[misc]


def test_an_alias_is_replaced_by_its_meaning() -> None:
    declared = types.GenericAlias(_Alias(), (np.float64,))  # type: ignore[arg-type]
    values = np.arange(3.0)
    np.testing.assert_array_equal(decode(encode(values, declared), declared), values)
