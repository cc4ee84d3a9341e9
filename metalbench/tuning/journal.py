"""Optuna's study of one search in a file, so that no candidate is tried twice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.errors import MachineError

if TYPE_CHECKING:
    import optuna

Space = Mapping[str, tuple[int, ...]]
Values = dict[str, int]
Key = tuple[tuple[str, int], ...]
# Spaces up to this size are searched in random order, larger ones by the sampler.
MOST_IN_TURN = 64
# After this number of known suggestions in a row a random candidate is drawn.
PATIENCE = 8
FAULT = "fault"


class Journal:
    """The candidates of one search, and the next candidate.

    `name` identifies device, kernel, type and size; a search with the same name is continued. With
    `path` None nothing is stored. Raises MachineError if Optuna is not installed.

    References
    ----------
    T. Akiba et al., "Optuna", KDD 2019. J. Bergstra et al., "Algorithms for hyper-parameter
    optimization", NIPS 2011: the tree-structured Parzen estimator for large spaces.
    """

    def __init__(self, path: Path | None, name: str, space: Space, *, seed: int = 0) -> None:
        optuna = _optuna()
        storage = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            backend = optuna.storages.journal.JournalFileBackend(str(path))
            storage = optuna.storages.JournalStorage(backend)
        self._space = {each: tuple(values) for each, values in space.items()}
        self._distributions = {
            each: optuna.distributions.CategoricalDistribution(values)
            for each, values in self._space.items()
        }
        self._random = np.random.default_rng(seed)
        self._study = optuna.create_study(
            storage=storage,
            study_name=name,
            sampler=optuna.samplers.TPESampler(seed=seed % 2**32),
            direction="maximize",
            load_if_exists=True,
        )

    @property
    def size(self) -> int:
        """Number of candidates in the space."""
        return math.prod(map(len, self._space.values()))

    def read_candidates(self) -> Iterator[tuple[Values, float | None, str]]:
        """Yield every tried candidate: its values, its ratio or None, and its fault."""
        states = _optuna().trial.TrialState
        for trial in self._study.get_trials(deepcopy=False):
            # Repeated suggestions are FAIL, interrupted trials are RUNNING.
            if trial.state in (states.COMPLETE, states.PRUNED):
                yield dict(trial.params), trial.value, str(trial.user_attrs.get(FAULT, ""))

    def next(self) -> optuna.Trial | None:
        """Return an untried candidate, None if all were tried."""
        tried = {_key(values) for values, _, _ in self.read_candidates()}
        if len(tried) >= self.size:
            return None
        for _ in range(PATIENCE if self.size > MOST_IN_TURN else 0):
            trial = self._ask()
            if _key(trial.params) not in tried:
                return trial
            self._study.tell(trial, state=_optuna().trial.TrialState.FAIL)
        self._study.enqueue_trial(self._draw_untried(tried))
        return self._ask()

    def tell(self, trial: optuna.Trial, ratio: float) -> None:
        """Store the ratio of a candidate."""
        self._study.tell(trial, ratio)

    def tell_fault(self, trial: optuna.Trial, fault: str) -> None:
        """Store the fault of a candidate."""
        trial.set_user_attr(FAULT, fault)
        self._study.tell(trial, state=_optuna().trial.TrialState.PRUNED)

    def add(self, values: Values, ratio: float | None) -> None:
        """Store a candidate of another source unless it is known; None marks a wrong one."""
        if values not in [known for known, _, _ in self.read_candidates()]:
            states = _optuna().trial.TrialState
            self._study.add_trial(
                _optuna().trial.create_trial(
                    params=values,
                    distributions=self._distributions,
                    value=ratio,
                    state=states.PRUNED if ratio is None else states.COMPLETE,
                )
            )

    def _ask(self) -> optuna.Trial:
        trial: optuna.Trial = self._study.ask(self._distributions)
        return trial

    def _draw_untried(self, tried: set[Key]) -> Values:
        """Draw a random untried candidate; one must exist."""
        while True:
            values = {
                name: several[self._random.integers(len(several))]
                for name, several in self._space.items()
            }
            if _key(values) not in tried:
                return values


def _key(values: Mapping[str, int]) -> Key:
    return tuple(sorted(values.items()))


def _optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError as error:
        raise MachineError(
            f"tune needs Optuna ({error}): pip install 'metalbench[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
