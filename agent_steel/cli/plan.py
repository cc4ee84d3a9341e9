"""``--dry-run``: what would be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from agent_steel.loop.settings import Settings
    from agent_steel.proposal import Proposer
    from agent_steel.subject import Subject


def tell_plan(
    out: Console,
    subjects: Sequence[Subject],
    proposer: Proposer,
    settings: Settings,
    max_cost: float | None,
) -> None:
    """Say which kernels would be tried, by whom, and how much of that there is at most."""
    from metalbench.report import numbers
    from metalbench.result.tuning import format_tunables

    device = subjects[0].device
    out.print(f"On {device.kind} ({device.name}):", soft_wrap=True)
    for each in subjects:
        defaults = format_tunables(each.kernel.tuned(dtype=each.dtype))
        with_values = f", {defaults}" if defaults else ""
        out.print(
            f"  {each.entry.name} ({each.dtype}, {each.size}{with_values}) from {each.kernel.path}",
            soft_wrap=True,
        )
    who = f"{proposer.name} ({proposer.model})" if proposer.model else proposer.name
    versions = settings.max_rounds * settings.candidates * settings.width
    most = numbers.count(versions, "version")
    out.print(
        f"{who} would be asked for up to {most} of each, {settings.parallel} at a time, in "
        f"{numbers.count(settings.max_rounds, 'round')} at most.",
        soft_wrap=True,
    )
    if settings.budget_s is not None:
        out.print(f"No longer than {numbers.duration(settings.budget_s)}.")
    if proposer.model:
        limit = "without a limit (--max-cost)" if max_cost is None else f"up to ${max_cost:g}"
        out.print(f"It costs what the model costs, {limit}.")
    out.print("Dry run: nothing was asked, measured or kept.")
