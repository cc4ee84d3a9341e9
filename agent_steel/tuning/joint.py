"""Search the joint space of recipes and values of their tunables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from agent_steel.source import with_source
from agent_steel.tuning.recipes import Recipe, list_recipes
from metalbench.errors import MetalBenchError
from metalbench.kernel.header import Kernel

Key = tuple[tuple[str, int], ...]
# Recipes that are tried before any values are; afterwards every third candidate is a recipe.
RECIPES_FIRST = 4
RECIPES_EVERY = 3
# From here on Optuna's sampler chooses, where it is installed.
SAMPLES_FROM = 12
MOST_SUGGESTIONS = 16


@dataclass(frozen=True)
class Point:
    """A recipe, by its number in the space, with values of its tunables. Number 0 is the start."""

    recipe: int
    values: Mapping[str, int]

    @property
    def key(self) -> tuple[int, Key]:
        """The point as a key."""
        return self.recipe, tuple(sorted(self.values.items()))


class JointSpace:
    """The recipes for one kernel and the values of their tunables.

    `bound` is the bottleneck of the diagnosis, which orders the recipes. `dtype` selects defaults.
    """

    def __init__(self, kernel: Kernel, bound: str, dtype: str) -> None:
        start = Recipe((), "", kernel.source)
        self.recipes = (start, *list_recipes(kernel, bound))
        self._kernel = kernel
        self._dtype = dtype
        self._kernels: dict[int, Kernel | None] = {}

    def kernel(self, recipe: int) -> Kernel | None:
        """Return the kernel of a recipe; None if its header is wrong."""
        if recipe not in self._kernels:
            try:
                self._kernels[recipe] = with_source(self._kernel, self.recipes[recipe].source)
            except MetalBenchError:
                self._kernels[recipe] = None
        return self._kernels[recipe]

    def find(self, source: str) -> int | None:
        """Return the recipe with this text."""
        return next((i for i, each in enumerate(self.recipes) if each.source == source), None)

    def tunables(self, recipe: int) -> Mapping[str, tuple[int, ...]]:
        """Return the values that a recipe's header offers."""
        kernel = self.kernel(recipe)
        return {} if kernel is None else kernel.tunables

    def defaults(self, recipe: int) -> Point:
        """Return a recipe with its default values."""
        kernel = self.kernel(recipe)
        values = {} if kernel is None else kernel.resolve_tunables(dtype=self._dtype)
        return Point(recipe, values)

    def is_valid(self, point: Point) -> bool:
        """Return whether the limits of the header allow the values, as far as sizes are not in."""
        kernel = self.kernel(point.recipe)
        if kernel is None:
            return False
        for limit in kernel.limits:
            if limit.left.names | limit.right.names <= set(point.values):
                try:
                    if limit.find_violation(point.values):
                        return False
                except MetalBenchError:
                    return False
        return True

    def suggest(self, tried: Mapping[tuple[int, Key], float | None], seed: int = 0) -> Point | None:
        """Return the next point; None if nothing is left.

        `tried` has the gain of each point that was tried, None for one that is wrong or not judged
        yet. The first recipes come with their defaults. Then values of the best point so far change
        in turn with further recipes: one at a time, later as Optuna's sampler says.
        """
        recipes = [
            point
            for each in range(1, len(self.recipes))
            if (point := self.defaults(each)).key not in tried and self.is_valid(point)
        ]
        count = len(tried)
        if recipes and (count <= RECIPES_FIRST or count % RECIPES_EVERY == 0):
            return recipes[0]
        if count >= SAMPLES_FROM and (sampled := self._sample(tried, seed)) is not None:
            return sampled
        near = next(self._near_best(tried), None)
        if near is not None:
            return near
        return recipes[0] if recipes else next(self._rest(tried), None)

    def _near_best(self, tried: Mapping[tuple[int, Key], float | None]) -> Iterator[Point]:
        """Yield points that differ from a good one in one value, the best points first."""
        good = sorted(
            ((gain, key) for key, gain in tried.items() if gain is not None),
            key=lambda each: -each[0],
        )
        for _, (recipe, values) in good[:3]:
            known = dict(values)
            options = self.tunables(recipe)
            # The first other value of each tunable, then the second ones.
            longest = max(map(len, options.values()), default=0)
            for turn in range(longest):
                for name, offered in options.items():
                    others = [each for each in offered if each != known.get(name)]
                    others.sort(key=lambda each: abs(offered.index(each)))
                    if turn >= len(others):
                        continue
                    point = Point(recipe, {**known, name: others[turn]})
                    if point.key not in tried and self.is_valid(point):
                        yield point

    def _rest(self, tried: Mapping[tuple[int, Key], float | None]) -> Iterator[Point]:
        """Yield what is left of the spaces of recipes that were not wrong, the best first."""
        gains: dict[int, float] = {}
        for (recipe, _), gain in tried.items():
            if gain is not None:
                gains[recipe] = max(gain, gains.get(recipe, 0.0))
        for recipe in sorted(gains, key=lambda each: -gains[each]):
            options = self.tunables(recipe)
            for values in product(*options.values()):
                point = Point(recipe, dict(zip(options, values, strict=True)))
                if point.key not in tried and self.is_valid(point):
                    yield point

    def _sample(self, tried: Mapping[tuple[int, Key], float | None], seed: int) -> Point | None:
        """Return what Optuna's sampler suggests; None without Optuna, or if it is all known."""
        optuna = _import_optuna()
        if optuna is None:
            return None
        known = {recipe for (recipe, _), gain in tried.items() if gain is not None}
        choices = sorted(each for each in known if self.tunables(each))
        if not choices or prod(len(v) for v in self.tunables(choices[0]).values()) < 2:
            return None
        study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=seed + len(tried), n_startup_trials=4),
        )
        categorical = optuna.distributions.CategoricalDistribution
        for (recipe, values), gain in tried.items():
            if recipe not in choices:
                continue
            names = {f"{recipe}.{name}": value for name, value in values}
            offered = self.tunables(recipe)
            if any(value not in offered.get(name, ()) for name, value in values):
                continue
            study.add_trial(
                optuna.trial.create_trial(
                    params={"recipe": recipe, **names},
                    distributions={
                        "recipe": categorical(choices),
                        **{f"{recipe}.{name}": categorical(offered[name]) for name, _ in values},
                    },
                    value=gain,
                    state=optuna.trial.TrialState.PRUNED
                    if gain is None
                    else optuna.trial.TrialState.COMPLETE,
                )
            )
        for _ in range(MOST_SUGGESTIONS):
            trial = study.ask()
            recipe = trial.suggest_categorical("recipe", choices)
            chosen = {
                name: trial.suggest_categorical(f"{recipe}.{name}", list(offered))
                for name, offered in self.tunables(recipe).items()
            }
            point = Point(recipe, chosen)
            if point.key not in tried and self.is_valid(point):
                return point
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def gains_of(
    space: JointSpace, attempts: Sequence[tuple[str, Mapping[str, int], float | None]]
) -> dict[tuple[int, Key], float | None]:
    """Return the gains of attempts that are points of a space: text, all values, gain."""
    found: dict[tuple[int, Key], float | None] = {}
    for source, values, gain in attempts:
        recipe = space.find(source)
        if recipe is not None:
            found[Point(recipe, values).key] = gain
    return found
