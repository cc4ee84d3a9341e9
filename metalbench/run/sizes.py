"""At which sizes a trial is verified, and who says there what is right."""

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


def task_judged(trial: Trial, device: TimedDevice) -> Task:
    """The task of `trial`; of another size than small the reference judges, if that is asked for.

    The reference, MLX, runs beside `device`.
    """
    task, size = trial.task, trial.size_on(device)
    if trial.oracle != SMALL or size in verify.small_sizes(task):
        return task
    from metalbench import reference  # and with it MLX

    return replace(task, judges={size: partial(reference.outputs, kind=device.kind)})


def further_sizes(task: Task, trial: Trial, size: str) -> tuple[list[str], str]:
    """The declared sizes to be verified beside the timed `size`, and one that is drawn."""
    judged = size in task.judges
    upto = verify.small_sizes(task)[-1] if judged else size
    *declared, drawn = verify.all_sizes(task, trial.seed, upto=upto)
    return [each for each in declared if each != size], drawn


def remarks(task: Task) -> list[str]:
    """What is to be said of who has judged."""
    small = ", ".join(verify.small_sizes(task))
    return [BY_REFERENCE.format(size, small) for size in task.judges]
