"""From a description to a checked task and kernel, written where they belong.

Nothing of a draft is believed. Its Python runs in a confined process after the user has agreed, and
files are written only when every check has passed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.proposal import Progress, ProposerError, Usage
from agent_steel.providers.model import Model
from agent_steel.welding.bench import Bench
from agent_steel.welding.confined import SECONDS
from agent_steel.welding.contribution import contribution
from agent_steel.welding.order import Agree, Order, WelderError
from metalbench.isolation import Limits

if TYPE_CHECKING:
    from metalbench.result import Result


@dataclass(frozen=True)
class Welded:
    """What came of it. `rounds` drafts were checked until one was right; `checks` it passed."""

    name: str
    paths: tuple[Path, ...]
    contribution: str
    rounds: int
    polished: bool
    checks: tuple[str, ...]
    usage: Usage
    result: Result | None = None


def weld(
    model: Model,
    order: Order,
    *,
    agree: Agree,
    say: Progress,
    device: str = "auto",
    limits: Limits | None = None,
    measure: bool = True,
    alone: AbstractContextManager[object] | None = None,
) -> Welded:
    """Have `model` write a task and its kernel, check them, and write them where they belong.

    Parameters
    ----------
    agree
        Is asked before Python that a model wrote is run, whenever that is other Python than before.
    say
        Hears of every step.
    device, limits
        Where kernels run, as for `_core.open`, and what checking one draft may use up.
    measure, alone
        Whether the kernel is timed at the end; within `alone` nobody else measures.

    Raises
    ------
    WelderError
        If no draft has passed, or the user did not agree.
    ProposerError
        If the model cannot be asked or gives no answer that can be read.
    DeclarationError
        For a name that is taken or a file that is in the way, before anything is asked.
    """
    from metalbench import _core

    order.check()
    opened = _core.open(device)
    bench = Bench(model, order, agree, say, opened, device, limits or Limits(SECONDS))
    try:
        draft, found, rounds = bench.draft()
        polished, found_polished = bench.polished(draft) if order.polish else (None, None)
    except (WelderError, ProposerError) as error:
        error.usage = bench.usage
        raise
    draft, found = polished or draft, found_polished or found
    result = None
    if measure:
        say("timing it")
        with alone or nullcontext():
            result = bench.figures(draft)
    text = contribution(
        draft,
        set_name=order.destination.set_name,
        folder=order.destination.folder,
        checks=found.checks,
        author=f"{model.name} ({model.provider})",
        result=result,
        reference=order.reference,
    )
    paths = order.destination.write(
        draft.name, {".py": draft.task, ".metal": draft.kernel, ".md": text}
    )
    return Welded(
        name=draft.name,
        paths=paths,
        contribution=text,
        rounds=rounds,
        polished=polished is not None,
        checks=found.checks,
        usage=bench.usage,
        result=result,
    )
