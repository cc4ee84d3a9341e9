"""From a description to a checked task and kernel, written where they belong.

Nothing of a draft is believed. Its Python runs in a confined process after the user has agreed, and
files are written only when every check has passed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_steel.models.providers.model import Model
from agent_steel.proposal import Progress, ProposerError, Usage
from agent_steel.welding.bench import Bench
from agent_steel.welding.confined import SECONDS
from agent_steel.welding.contribution import contribution
from agent_steel.welding.draft import Draft
from agent_steel.welding.order import Agree, Order, WelderError
from metalbench.isolation import Limits

if TYPE_CHECKING:
    from metalbench.result import Result


@dataclass(frozen=True)
class WeldResult:
    """The accepted draft. `rounds` drafts were checked; `checks` were passed."""

    name: str
    paths: tuple[Path, ...]
    contribution: str
    rounds: int
    is_polished: bool
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
) -> WeldResult:
    """Have `model` write a task and its kernel, check them, and write them where they belong.

    `agree` confirms Python code of the model before it is run, each time the code changes. `say`
    receives progress messages. `device` is as for `_core.open`; `limits` are for checking one
    draft. With `measure` the kernel is timed at the end, within `alone`, where no other process
    measures.

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
    passed = _pass_checks(bench)
    result = None
    if measure:
        say("timing it")
        with alone or nullcontext():
            result = bench.figures(passed.draft)
    return _write(bench, passed, result)


@dataclass(frozen=True)
class _Passed:
    """A draft that has passed, after how many."""

    draft: Draft
    checks: tuple[str, ...]
    rounds: int
    is_polished: bool = False


def _pass_checks(bench: Bench) -> _Passed:
    try:
        draft, found, rounds = bench.draft()
        if bench.order.polish:
            polished, found_polished = bench.polish(draft)
            if polished is not None and found_polished is not None:
                return _Passed(polished, found_polished.checks, rounds, is_polished=True)
    except (WelderError, ProposerError) as error:
        error.usage = bench.usage
        raise
    return _Passed(draft, found.checks, rounds)


def _write(bench: Bench, passed: _Passed, result: Result | None) -> WeldResult:
    order, draft = bench.order, passed.draft
    text = contribution(
        draft,
        destination=order.destination,
        checks=passed.checks,
        author=f"{bench.model.name} ({bench.model.provider})",
        result=result,
        reference=order.reference,
    )
    paths = order.destination.write(
        draft.name, {".py": draft.task, ".metal": draft.kernel, ".md": text}
    )
    return WeldResult(
        name=draft.name,
        paths=paths,
        contribution=text,
        rounds=passed.rounds,
        is_polished=passed.is_polished,
        checks=passed.checks,
        usage=bench.usage,
        result=result,
    )
