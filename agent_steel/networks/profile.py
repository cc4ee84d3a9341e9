"""Rank the operations of a network by their share of the time, and find their tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_steel.loop.predicted import Predictor
from agent_steel.loop.settings import SearchSubject
from agent_steel.networks.operation import VIEWS, Network, OperationRecord
from agent_steel.networks.tasks import FoundTask, find_difference, find_task
from metalbench.chips import peak_rates

if TYPE_CHECKING:
    from metalbench.kernel.header import Kernel, TargetDevice
    from metalbench.kernel.library import Library
    from metalbench.profiling.gpu_chips import GpuChip
    from metalbench.store.result import DeviceFacts


@dataclass(frozen=True)
class ProfiledOperation:
    """An operation with the time of all its calls in one pass, and its task.

    `share` is the part of the time of all operations. `found` is None without a task, and `reason`
    says why. With `is_bound` the seconds are a lower bound: those of its bytes and products at the
    chip's published rates.
    """

    record: OperationRecord
    seconds: float
    share: float
    found: FoundTask | None
    reason: str = ""
    is_bound: bool = False

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.record.operation.name

    @property
    def is_view(self) -> bool:
        """Whether it only changes the shape of an array."""
        return self.name.rstrip("_") in VIEWS


@dataclass(frozen=True)
class NetworkProfile:
    """The operations of a network, the longest first, and the median time of a whole pass in s.

    `chip` is the Apple GPU whose times were predicted; None for times measured here.
    """

    framework: str
    operations: tuple[ProfiledOperation, ...]
    pass_s: float
    chip: GpuChip | None = None

    @property
    def total_s(self) -> float:
        """The time of all operations."""
        return sum(each.seconds for each in self.operations)

    def choose(self, most: int) -> tuple[ProfiledOperation, ...]:
        """Return the operations with a task that take most of the time."""
        return tuple(each for each in self.operations if each.found is not None)[:most]


def largest_gain(share: float) -> float:
    """Return the largest possible gain of a network of which `share` becomes faster.

    This is Amdahl's law for an unlimited speed of that part (Amdahl, AFIPS 1967).
    """
    return math.inf if share >= 1 else 1 / (1 - share)


def profile_network(
    network: Network,
    library: Library,
    device: TargetDevice,
    *,
    seconds: float,
    pass_s: float,
    chip: GpuChip | None = None,
    facts: DeviceFacts,
) -> NetworkProfile:
    """Record the operations of a network, and return them by their share of the time.

    `seconds` is the time for recording, `pass_s` that of a whole pass. With `chip` the times are
    those that a model predicts for the library's kernels on that GPU, and lower bounds for
    operations without a task. Raise TaskError if the network cannot be recorded.
    """
    target = device if chip is None else chip.target
    found = []
    for record in network.record(seconds):
        task = find_task(record.operation, library, target)
        if isinstance(task, FoundTask) and record.output is not None:
            task = find_difference(task, record.inputs, record.output) or task
        found.append(
            ProfiledOperation(
                record,
                record.seconds,
                0.0,
                task if isinstance(task, FoundTask) else None,
                task if isinstance(task, str) else "",
            )
        )
    if chip is not None:
        found = [_predict(each, Predictor(chip), facts) for each in found]
    total = sum(each.seconds for each in found) or 1.0
    ranked = sorted(
        (replace(each, share=each.seconds / total) for each in found),
        key=lambda each: -each.seconds,
    )
    return NetworkProfile(network.framework, tuple(ranked), pass_s, chip)


def _predict(
    each: ProfiledOperation, predictor: Predictor, facts: DeviceFacts
) -> ProfiledOperation:
    """Return an operation with its predicted time, or with a lower bound of it."""
    operation, chip = each.record.operation, predictor.chip
    if each.found is not None:
        subject = make_subject(each.found, facts, chip)
        seconds = predict_seconds(predictor, subject, subject.kernel, {})
        if not isinstance(seconds, str):
            return replace(each, seconds=each.record.calls * seconds)
        each = replace(each, found=None, reason=f"cannot be predicted: {seconds}")
    if each.is_view:
        return replace(each, seconds=0.0)
    rates = peak_rates(chip.key, chip.cores)
    assert rates is not None  # of every chip that can be predicted
    least = rates.least_seconds(operation.product_flops, operation.nbytes)
    return replace(each, seconds=each.record.calls * least, is_bound=True)


def predict_seconds(
    predictor: Predictor, subject: SearchSubject, kernel: Kernel, tunables: Mapping[str, int]
) -> float | str:
    """Return the predicted time of a kernel within a network in s, or why there is none.

    The fixed cost of a command buffer is left out: a network has it once, not for each operation.
    """
    prediction = predictor.predict(subject, kernel, tunables)
    if isinstance(prediction, str):
        return prediction
    return sum(each.seconds for each in prediction.dispatches)


def make_subject(
    found: FoundTask,
    facts: DeviceFacts,
    chip: GpuChip | None = None,
    others: Sequence[GpuChip] = (),
) -> SearchSubject:
    """Return what a search makes faster: the kernel of an operation at the network's size."""
    return SearchSubject(
        found.entry, found.kernel, found.dtype, found.size, facts, chip, tuple(others)
    )


def list_missing(operations: Iterable[ProfiledOperation]) -> dict[str, float]:
    """Return the shares of the operations without a task by name, views left out, largest first."""
    shares: dict[str, float] = {}
    for each in operations:
        if each.found is None and not each.is_view:
            shares[each.name] = shares.get(each.name, 0.0) + each.share
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
