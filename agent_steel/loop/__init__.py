"""Profile, propose, verify, keep or revert; and again, until nothing improves."""

from agent_steel.loop.loop import Climbed, Ended, Loop

__all__ = ["Climbed", "Ended", "Loop"]
