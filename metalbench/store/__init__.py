"""The store of results in SQLite: every raw sample, and the conditions for judging it later."""

from metalbench.store.history import HistoryEntry
from metalbench.store.location import store_path
from metalbench.store.records import Record, RecordClaim, RecordPlace
from metalbench.store.store import Store

__all__ = ["HistoryEntry", "Record", "RecordClaim", "RecordPlace", "Store", "store_path"]
