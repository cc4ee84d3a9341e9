"""What a counted run tells of a version of a kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent_steel.proposal import Fact

if TYPE_CHECKING:
    from metalbench.profiling import Profile


def count_facts(profile: Profile) -> Iterator[Fact]:
    """Facts of every dispatch: what its source does, whatever the optimiser makes of it."""
    for each in profile.dispatches:
        total, where = each.total, f"{each.function}, counted at size {profile.size}"
        moved = (
            f"{total.device_bytes_read:,} B read ({each.unique_bytes_read:,} of them different), "
            f"{total.device_bytes_written:,} B written"
        )
        yield Fact(f"{where}: device memory", moved)
        if not math.isnan(total.coalescing):
            lines = f"{total.device_transactions:,}, {100 * total.coalescing:.0f} % coalesced"
            yield Fact(f"{where}: transactions of 128 B", lines)
        if total.bank_turns:
            conflicts = f"{total.bank_conflicts:,} of {total.bank_turns:,} turns"
            yield Fact(f"{where}: bank conflicts", conflicts)
        if not math.isnan(each.active_lanes):
            yield Fact(f"{where}: active lanes", f"{100 * each.active_lanes:.0f} %")
        if total.barriers:
            yield Fact(f"{where}: barriers of SIMD-groups", f"{total.barriers:,}")
        if total.atomics:
            waits = f"{total.atomics:,}, {total.contended:,} wait for another lane"
            yield Fact(f"{where}: atomics", waits)
