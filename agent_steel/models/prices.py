"""What tokens of a model cost, from one table that users can replace."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_steel.proposal import ProposerError

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
