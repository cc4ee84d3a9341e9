"""The history of attempts: stored, shown as a lineage, exported as files."""

from agent_steel.history.history import History, Place, Session

__all__ = ["History", "Place", "Session"]
