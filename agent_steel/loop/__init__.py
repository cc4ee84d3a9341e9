"""Profile, propose, verify, keep or revert; and again, until nothing improves."""

from agent_steel.loop.search import Loop, LoopResult, SearchResult

__all__ = ["Loop", "LoopResult", "SearchResult"]
