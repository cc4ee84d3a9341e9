"""The joint space of recipes and values: order, limits, and no repetition."""

from __future__ import annotations

import sys

import pytest
from plain_sources import read_plain

from agent_steel.tuning.joint import RECIPES_FIRST, SAMPLES_FROM, JointSpace, Key, Point
from agent_steel.tuning.recipes import HELPS, WORTH, list_recipes, score
from agent_steel.tuning.transformations import TRANSFORMATIONS

Tried = dict[tuple[int, Key], float | None]


def _space(name: str, bound: str = "latency") -> JointSpace:
    _, kernel = read_plain(name)
    return JointSpace(kernel, bound, "float32")


def _search(space: JointSpace, count: int, gain: object = None) -> list[Point]:
    tried: Tried = {space.defaults(0).key: 1.0}
    found = []
    for number in range(count):
        point = space.suggest(tried)
        if point is None:
            break
        assert point.key not in tried
        assert space.is_valid(point)
        tried[point.key] = gain(point, number) if callable(gain) else 1.0
        found.append(point)
    return found


def test_every_technique_has_a_worth() -> None:
    assert set(WORTH) == {each.technique for each in TRANSFORMATIONS}
    assert set().union(*map(set, HELPS.values())) <= set(WORTH)


def test_the_bottleneck_changes_the_order_of_recipes() -> None:
    _, kernel = read_plain("relu")
    names = [each.technique for each in list_recipes(kernel, "memory")]
    assert names[0] == "vector loads"
    assert score(("vector loads",), "memory") > score(("vector loads",), "compute")
    _, kernel = read_plain("sqr_mm")
    assert list_recipes(kernel, "compute")[0].steps[0] == "SIMD-group matrices"


def test_recipes_combine_what_fits_and_have_one_structure() -> None:
    _, kernel = read_plain("rms_norm")
    recipes = list_recipes(kernel)
    assert ("fused dispatches", "SIMD-groups a row") in [each.steps for each in recipes]
    assert len({each.source for each in recipes}) == len(recipes)
    assert all(each.summary for each in recipes)


def test_first_recipes_come_with_their_defaults_then_values_change_in_turn() -> None:
    space = _space("softmax")
    points = _search(space, 9)
    for point in points[:RECIPES_FIRST]:
        assert point == space.defaults(point.recipe)
    assert any(point != space.defaults(point.recipe) for point in points)


def test_points_keep_the_limits_of_the_header_and_do_not_repeat() -> None:
    space = _space("sum_rows")
    points = _search(space, 60)
    assert len({point.key for point in points}) == 60
    assert (
        max(point.values["WIDE"] * point.values["ROWS"] for point in points if point.values) <= 1024
    )


def test_a_small_space_is_searched_to_its_end() -> None:
    space = _space("transpose_2d")
    assert len(_search(space, 100)) == 2 * 4


@pytest.mark.parametrize("has_optuna", [True, False])
def test_the_search_finds_good_values_with_and_without_optuna(
    has_optuna: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_optuna:
        pytest.importorskip("optuna")
    else:
        monkeypatch.setitem(sys.modules, "optuna", None)
    space = _space("sum_rows")

    def gain(point: Point, _: int) -> float:
        return 1 + (point.values.get("WIDE") == 512) + (point.values.get("KEEP") == 2)

    points = _search(space, 40, gain)
    assert max(gain(point, 0) for point in points) == 3
    assert len(points) > SAMPLES_FROM


def test_wrong_recipes_are_left_alone() -> None:
    space = _space("sum_rows")

    def gain(point: Point, _: int) -> float | None:
        return None if point.recipe else 1.0

    # The one recipe is wrong with its defaults, and the start has no tunables.
    assert len(_search(space, 20, gain)) == 1
