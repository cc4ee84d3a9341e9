"""Optuna's study of one search, kept in a file: what was tried once is not tried again."""

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
# Spaces no larger are gone through in random order; larger ones are sampled where it seems best.
MOST_IN_TURN = 64
# A sampler that suggests what is known so often in a row has nothing new to say: a random one then.
PATIENCE = 8
FAULT = "fault"


class Journal:
    """The candidates of one search, and which comes next.

    `name` says of which device, kernel, type and size it is; of the same name it goes on where it
    was left. With `path` None nothing is kept. Raises MachineError where Optuna is not installed.

    References
    ----------
    T. Akiba et al., "Optuna", KDD 2019. J. Bergstra et al., "Algorithms for hyper-parameter
    optimization", NIPS 2011: the tree-structured Parzen estimator behind large spaces.
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
        """How many candidates there are."""
        return math.prod(map(len, self._space.values()))

    def known(self) -> Iterator[tuple[Values, float | None, str]]:
        """Every candidate that was tried: its values, its ratio or None, and what is wrong."""
        states = _optuna().trial.TrialState
        for trial in self._study.get_trials(deepcopy=False):
            # What a sampler has suggested again has failed, and what was broken off never ended.
            if trial.state in (states.COMPLETE, states.PRUNED):
                yield dict(trial.params), trial.value, str(trial.user_attrs.get(FAULT, ""))

    def next(self) -> optuna.Trial | None:
        """Return a candidate that has not been tried, None if there is none."""
        tried = {_key(values) for values, _, _ in self.known()}
        if len(tried) >= self.size:
            return None
        for _ in range(PATIENCE if self.size > MOST_IN_TURN else 0):
            trial = self._asked()
            if _key(trial.params) not in tried:
                return trial
            self._study.tell(trial, state=_optuna().trial.TrialState.FAIL)
        self._study.enqueue_trial(self._drawn(tried))
        return self._asked()

    def tell(self, trial: optuna.Trial, ratio: float) -> None:
        """Keep how a candidate has done."""
        self._study.tell(trial, ratio)

    def tell_fault(self, trial: optuna.Trial, fault: str) -> None:
        """Keep what is wrong with a candidate."""
        trial.set_user_attr(FAULT, fault)
        self._study.tell(trial, state=_optuna().trial.TrialState.PRUNED)

    def add(self, values: Values, ratio: float | None) -> None:
        """Keep a candidate that nobody asked for, unless it is known; None is of a wrong one."""
        if values not in [known for known, _, _ in self.known()]:
            states = _optuna().trial.TrialState
            self._study.add_trial(
                _optuna().trial.create_trial(
                    params=values,
                    distributions=self._distributions,
                    value=ratio,
                    state=states.PRUNED if ratio is None else states.COMPLETE,
                )
            )

    def _asked(self) -> optuna.Trial:
        trial: optuna.Trial = self._study.ask(self._distributions)
        return trial

    def _drawn(self, tried: set[Key]) -> Values:
        """Draw one that has not been tried; there is one."""
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
