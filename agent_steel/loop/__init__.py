"""Profile, propose, verify, keep or revert; and again, until nothing improves."""

from agent_steel.loop.loop import Loop, LoopResult, SearchResult

__all__ = ["Loop", "LoopResult", "SearchResult"]
