"""The history of attempts: stored, shown as a lineage, exported as files."""

from agent_steel.history.history import History, Session
from agent_steel.history.rows import Place

__all__ = ["History", "Place", "Session"]
