"""What answers cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """The cost of requests. `cost` is in US dollars, None without a known price."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    requests: int = 0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cost + other.cost if known else None,  # type: ignore[operator]
            self.requests + other.requests,
        )
