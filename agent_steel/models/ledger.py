"""What tokens of a model cost, from one table that users can replace."""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agent_steel.proposal import ProposerError, SpentError, Usage

VARIABLE = "AGENT_STEEL_PRICES"
PACKAGED = Path(__file__).with_name("prices.json")
# Models are also called by a name with the day of their release.
_DAY = re.compile(r"-20\d\d-?\d\d-?\d\d$")
_FORM = '{"models": {"NAME": {"input": 2.0, "output": 10.0}}}'


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """Return the cost of these tokens, in US dollars."""
        return (self.input * tokens_in + self.output * tokens_out) / 1e6


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Prices:
    """Prices by the name of the model; `path` is the table's file, which errors name.

    `free` is true of servers of one's own, where no token costs anything.
    """

    models: Mapping[str, Price] = field(default_factory=dict)
    path: Path = PACKAGED
    free: bool = False

    def of(self, model: str) -> Price | None:
        """The price of `model`, also where its name ends with a day; None if it is not known."""
        if self.free:
            return FREE
        return self.models.get(model) or self.models.get(_DAY.sub("", model))


def read(path: Path | None = None) -> Prices:
    """The table of `path`, else of the file that AGENT_STEEL_PRICES names, else the packaged one.

    Raise ProposerError, with the file's name, for one that cannot be read.
    """
    named = os.environ.get(VARIABLE)
    chosen = path or (Path(named) if named else PACKAGED)
    try:
        table = json.loads(chosen.read_text(encoding="utf-8"))
        models = {name: _price(name, each) for name, each in table["models"].items()}
    except OSError as error:
        raise ProposerError(f"prices {chosen}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProposerError(f"prices {chosen}: expected {_FORM}, got {error!r}") from None
    return Prices(models, chosen)


def _price(name: str, given: Any) -> Price:
    price = Price(float(given["input"]), float(given["output"]))
    if not all(math.isfinite(each) and each >= 0 for each in (price.input, price.output)):
        raise ValueError(f"{name}: a price must be 0 or more")
    return price


# Count the cost of every request to a model, and check the limit before the request is made.


class Charge:
    """One request: its worst case is set aside until `settle` says what it was."""

    def __init__(self, price: Price | None) -> None:
        self._price = price
        self.usage = Usage(cost=0.0, requests=1)

    def settle(self, tokens_in: int, tokens_out: int) -> None:
        """Note the tokens of the request, which may have failed."""
        cost = None if self._price is None else self._price.of(tokens_in, tokens_out)
        self.usage = Usage(tokens_in, tokens_out, cost, 1)


class SpendingRecorder(Protocol):
    """Keeps what requests use, so that limits hold after the process was killed."""

    def reserve(self, most: Usage) -> int:
        """Record the most that a request may use, before it is sent; return its number."""

    def settle(self, number: int, used: Usage) -> None:
        """Record what a request has used."""


class Ledger:
    """Adds up what all requests have cost; several threads may ask at the same time.

    `max_cost` is in US dollars, `token_budget` in tokens and `max_requests` a number, for all
    requests together; None means unlimited. A limit of the cost needs a model with a known price.
    `spent` was used before, as by the first part of a session that was interrupted. `recorder`
    keeps each request before it is sent; None keeps nothing.
    """

    recorder: SpendingRecorder | None = None

    def __init__(
        self,
        prices: Prices,
        max_cost: float | None = None,
        token_budget: int | None = None,
        *,
        max_requests: int | None = None,
        spent: Usage | None = None,
    ) -> None:
        if max_cost is not None and not max_cost > 0:
            raise ProposerError(f"--max-cost: expected more than 0 US dollars, got {max_cost:g}")
        if token_budget is not None and token_budget < 1:
            raise ProposerError(f"--token-budget: expected 1 or more, got {token_budget}")
        if max_requests is not None and max_requests < 1:
            raise ProposerError(f"--max-requests: expected 1 or more, got {max_requests}")
        self._max_requests = max_requests
        self._open_requests = 0
        self._prices = prices
        self._max_cost = max_cost
        self._token_budget = token_budget
        self._usage = spent or Usage()
        self._set_aside = 0.0
        self._tokens_set_aside = 0
        self._changed = threading.Condition()

    @property
    def usage(self) -> Usage:
        """All that was spent so far."""
        with self._changed:
            return self._usage

    def worst(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """Return the cost of these tokens of `model`, in US dollars; None without a known price."""
        price = self._prices.of(model)
        return None if price is None else price.of(tokens_in, tokens_out)

    def check(self, model: str) -> None:
        """Raise ProposerError if `model` is to be held to a limit and has no price."""
        if self._max_cost is None or self._prices.of(model) is not None:
            return
        raise ProposerError(
            f"--max-cost {self._max_cost:g}: no price of {model} is known, so that its cost cannot "
            f"be limited; add it to a copy of {self._prices.path} and name that with --prices, or "
            "leave --max-cost out"
        )

    @contextmanager
    def request(self, model: str, tokens_in: int, tokens_out: int) -> Iterator[Charge]:
        """Reserve a request of at most these tokens; count it when the block ends.

        Waits while requests of other threads have set aside what this one needs. Raises
        SpentError, before anything is asked, if its worst case goes beyond what is left.
        """
        self.check(model)
        price = self._prices.of(model)
        worst = price.of(tokens_in, tokens_out) if price else 0.0
        tokens = tokens_in + tokens_out
        self._reserve(worst, tokens)
        charge = Charge(price)
        number: int | None = None
        try:
            if self.recorder is not None:
                most = Usage(tokens_in, tokens_out, worst if price else None, 1)
                number = self.recorder.reserve(most)
            yield charge
        finally:
            if self.recorder is not None and number is not None:
                self.recorder.settle(number, charge.usage)
            with self._changed:
                self._set_aside = max(0.0, self._set_aside - worst)
                self._tokens_set_aside -= tokens
                self._open_requests -= 1
                self._usage += charge.usage
                self._changed.notify_all()

    def _reserve(self, worst: float, tokens: int) -> None:
        with self._changed:
            while self._find_excess(
                worst + self._set_aside, tokens + self._tokens_set_aside, 1 + self._open_requests
            ):
                excess = self._find_excess(worst, tokens, 1)
                if excess:
                    raise SpentError(f"{excess}; raise the limit, or lower --max-tokens")
                self._changed.wait()
            self._set_aside += worst
            self._tokens_set_aside += tokens
            self._open_requests += 1

    def _find_excess(self, worst: float, tokens: int, requests: int) -> str:
        """Return which limit these requests would exceed, in words; '' for none."""
        if self._max_requests is not None and self._usage.requests + requests > self._max_requests:
            return f"--max-requests {self._max_requests}: {self._usage.requests} requests were made"
        spent = self._usage.cost or 0.0
        # A sum of many small prices may miss the limit itself by a rounding.
        if self._max_cost is not None and spent + worst > self._max_cost * (1 + 1e-12):
            return (
                f"--max-cost {self._max_cost:g}: {spent:.4f} US dollars are spent, and the next "
                f"request may cost {worst:.4f}"
            )
        used = self._usage.tokens_in + self._usage.tokens_out
        if self._token_budget is not None and used + tokens > self._token_budget:
            return (
                f"--token-budget {self._token_budget}: {used} tokens are used, and the next "
                f"request may take {tokens}"
            )
        return ""
