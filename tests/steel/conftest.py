"""The fixtures of every test of agent_steel."""

from steel_session import folder, session, subject

__all__ = ["folder", "session", "subject"]
