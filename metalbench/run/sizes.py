"""Choose the sizes at which a trial is verified, and the judge of each: oracle or MLX."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from metalbench import verify
from metalbench.run.trial import SMALL, Trial
from metalbench.task import Task
from metalbench.task.declaration import TimedDevice

BY_REFERENCE = (
    "at size {} results were compared with MLX's, in float32, and the oracle, which judges at {}, "
    "was asked only where those two differ (--oracle small)"
)


def choose_judge(trial: Trial, device: TimedDevice) -> Task:
    """Return the task of `trial`; with --oracle small, MLX judges a timed size that is not small.

    MLX runs on the MLX device that belongs to `device`.
    """
    task, size = trial.task, trial.size_on(device)
    if trial.oracle != SMALL or size in verify.small_sizes(task):
        return task
    from metalbench import reference  # and with it MLX

    return replace(task, judges={size: partial(reference.outputs, kind=device.kind)})


def list_other_sizes(task: Task, trial: Trial, size: str) -> tuple[list[str], str]:
    """Return the declared sizes to verify in addition to `size`, and a random size."""
    judged = size in task.judges
    upto = verify.small_sizes(task)[-1] if judged else size
    *declared, random_size = verify.all_sizes(task, trial.seed, upto=upto)
    return [each for each in declared if each != size], random_size


def list_remarks(task: Task) -> list[str]:
    """Return a note for each size at which MLX is the judge."""
    small = ", ".join(verify.small_sizes(task))
    return [BY_REFERENCE.format(size, small) for size in task.judges]
