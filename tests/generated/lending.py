"""The model's private memory that functions take: pieces of arrays, put back when they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from generated import syntax as s
from generated.launch import Array


@dataclass(frozen=True)
class Lent:
    """An array argument of a function; `first` is its first element in every lane."""

    taken: s.Taken
    array: str
    first: Array

    def inside(self, variables: Mapping[str, Array]) -> dict[str, Array]:
        """The function's own variables for it."""
        return {
            self.taken.name + member: variables[self.array + member][self._places].copy()
            for member in self._members(variables)
        }

    def written(
        self, inside: Mapping[str, Array], variables: Mapping[str, Array], mask: Array
    ) -> dict[str, Array]:
        """The caller's variables with what the function has written in the lanes of a mask."""
        if self.taken.copied:
            return {}
        found = {}
        for member in self._members(variables):
            whole = variables[self.array + member].copy()
            whole[tuple(each[mask] for each in self._places)] = inside[self.taken.name + member][
                mask
            ]
            found[self.array + member] = whole
        return found

    @property
    def _places(self) -> tuple[Array, ...]:
        rows, lanes = (each[..., None] for each in np.indices(self.first.shape))
        return tuple(
            np.broadcast_arrays(rows, lanes, self.first[..., None] + np.arange(self.taken.size))
        )

    def _members(self, variables: Mapping[str, Array]) -> list[str]:
        """Return the suffixes of its variables' names: none, or members of a struct."""
        size = len(self.array)
        return [
            each[size:]
            for each in variables
            if each == self.array or each.startswith(f"{self.array}.")
        ]
