"""What was tried and what came of it: kept in the store, told as a lineage, written as a file."""

from agent_steel.history.history import History, Session
from agent_steel.history.rows import Place

__all__ = ["History", "Place", "Session"]
