"""The store of results in SQLite: every raw sample, and the conditions for judging it later."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalbench.store.database import store_path
    from metalbench.store.database import store_path as location
    from metalbench.store.store import Store

__all__ = ["Store", "location", "store_path"]

if not TYPE_CHECKING:  # type checkers see the imports above and report unknown names

    def __getattr__(name: str) -> object:
        # Workers import `metalbench.store.result` only, and never open the database.
        if name == "Store":
            from metalbench.store.store import Store

            return Store
        if name in ("location", "store_path"):
            from metalbench.store.database import store_path

            return store_path
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
