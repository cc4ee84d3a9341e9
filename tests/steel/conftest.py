"""The fixtures of every test of agent_steel."""

from steady_path import tmp_path
from steel_session import folder, session, subject

__all__ = ["folder", "session", "subject", "tmp_path"]
