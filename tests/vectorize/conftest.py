"""Fixtures that check functions of one lane in every shape of launch."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from vectorize import launches, one_lane

from metalbench.chips import SIMD_WIDTH


@pytest.fixture(params=launches.FORMS.values(), ids=launches.FORMS)
def check(request, tmp_path):
    """Run a body in one shape of launch, and compare with NumPy."""
    return partial(launches.check, tmp_path, request.param)


_GROUPS = {name: form for name, form in launches.FORMS.items() if form.width == SIMD_WIDTH}


@pytest.fixture(params=_GROUPS.values(), ids=_GROUPS)
def check_groups(request, tmp_path):
    """Like `check`, in the shapes that have SIMD-group functions."""
    return partial(launches.check, tmp_path, request.param)


@pytest.fixture
def check_form(tmp_path):
    """Like `check`, in a shape that the test chooses."""
    return partial(launches.check, tmp_path)


@pytest.fixture(
    params=[
        (form, features)
        for features in launches.MACHINES.values()
        for form in (launches.FORMS["32 in a row"], launches.FORMS["some of 32"])
    ],
    ids=[f"{machine}, {form}" for machine in launches.MACHINES for form in ("in a row", "some")],
)
def check_machine(request, tmp_path):
    """Like `check`, for every vector target, in a shape with masks and in one without."""
    form, features = request.param
    return partial(launches.check, tmp_path, replace(form, features=features))


@pytest.fixture(params=["serialized", "masked"])
def check_ways(request, check):
    """Like `check`, with divergent regions serialized or masked.

    A SIMD-group function in the place of each `TOGETHER` makes a region masked.
    """
    if request.param == "serialized":
        return lambda body, want, more="", /, **memory: check(
            body.replace("TOGETHER", ""), want, more, **memory
        )
    if check.args[1].width != SIMD_WIDTH:
        pytest.skip("a SIMD-group has 32 lanes")
    numbers = count()

    def together(_: re.Match[str]) -> str:
        return f"%together{next(numbers)} = call i32 @mb_vector_sum_u32(i32 0)"

    return lambda body, want, more="", /, **memory: check(
        re.sub("TOGETHER", together, body), want, more, **memory
    )


@pytest.fixture(params=one_lane.KINDS.values(), ids=one_lane.KINDS)
def a(request):
    """Input that is different in each lane, or equal in all."""
    return request.param
