"""Variables and functions that a generated statement may use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from generated import syntax as s


@dataclass(frozen=True)
class Scope:
    """Names by type, and what else is there.

    `together`: lanes may ask for each other here. `level`: all threads that have not returned come
    here together, so that barriers may stand here. `read` and `own` are the threadgroup arrays that
    may be read by all, and written by their owners; `tally` the one that is updated, and how.
    `jumps` are how lanes may leave: `break`, `continue`, `return`.
    """

    variables: tuple[s.Name, ...] = ()
    constants: tuple[s.Name, ...] = ()
    uniform: tuple[s.Name, ...] = ()  # of the constants, those that all lanes share
    arrays: tuple[s.DeclareArray, ...] = ()
    structs: tuple[s.Struct, ...] = ()
    inputs: tuple[s.Buffer, ...] = ()
    outputs: tuple[s.Output, ...] = ()
    functions: tuple[s.Function, ...] = ()
    read: tuple[s.Shared, ...] = ()
    own: tuple[s.Shared, ...] = ()
    tally: tuple[str, str] | None = None
    jumps: frozenset[str] = frozenset()
    together: bool = True
    level: bool = True
    in_loop: bool = False
    loops: bool = True  # whether loops may stand here
    returns: str = ""  # the type that a function returns

    def inside(self, **changes: object) -> Scope:
        """Within a statement that only some threads may come to."""
        return replace(self, **{"level": False, **changes})  # type: ignore[arg-type]


@dataclass
class Names:
    """Fresh names."""

    stems: dict[str, int] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """A name that nothing has."""
        self.stems[stem] = self.stems.get(stem, -1) + 1
        return f"{stem}{self.stems[stem]}"
