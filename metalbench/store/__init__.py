"""Results, kept in SQLite: every raw sample, and what is needed to judge it later."""

from metalbench.store.history import HistoryEntry
from metalbench.store.location import location
from metalbench.store.records import Claim, Place, Record
from metalbench.store.store import Store

__all__ = ["Claim", "HistoryEntry", "Place", "Record", "Store", "location"]
