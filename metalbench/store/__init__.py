"""The store of results in SQLite: every raw sample, and the conditions for judging it later."""

from metalbench.store.database import store_path
from metalbench.store.store import Store

location = store_path  # The documented name.

__all__ = ["Store", "location", "store_path"]
