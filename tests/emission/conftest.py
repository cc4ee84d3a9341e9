"""Functions of one lane are checked in every form of launch."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from emission import launches, one_lane

from metalbench.msl.emission.markers import SIMD_WIDTH


@pytest.fixture(params=launches.FORMS.values(), ids=launches.FORMS)
def check(request, tmp_path):
    """Run a body in one form of launch, and compare with numpy."""
    return partial(launches.check, tmp_path, request.param)


_GROUPS = {name: form for name, form in launches.FORMS.items() if form.width == SIMD_WIDTH}


@pytest.fixture(params=_GROUPS.values(), ids=_GROUPS)
def check_groups(request, tmp_path):
    """The same in the forms that have functions of SIMD-groups."""
    return partial(launches.check, tmp_path, request.param)


@pytest.fixture
def check_form(tmp_path):
    """The same in a form that the test chooses."""
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
    """The same for every kind of processor, in a form with masks and in one without."""
    form, features = request.param
    return partial(launches.check, tmp_path, replace(form, features=features))


@pytest.fixture(params=["alone", "with masks"])
def check_ways(request, check):
    """The same for lanes that part and go their ways alone, and for such that stay together.

    What keeps them together is a function of their SIMD-group, in the place of each `TOGETHER`.
    """
    if request.param == "alone":
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
    """What lanes go by: each by its own number, or all by the same one."""
    return request.param
