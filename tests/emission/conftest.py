"""Functions of one lane are checked in every form of launch: some of them, or with `-m slow` all."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from zlib import crc32

import pytest
from emission import launches

from metalbench.msl.emission.markers import SIMD_WIDTH

_ONE_IN = 60


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The short form: of every test its first case, and of the others one in twelve."""
    seen = set()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        function = (item.path, item.originalname)
        if function in seen and crc32(item.nodeid.encode()) % _ONE_IN:
            item.add_marker(pytest.mark.slow)
        seen.add(function)


@pytest.fixture(params=launches.FORMS.values(), ids=launches.FORMS)
def check(request, tmp_path):
    """Run a body in one form of launch, and compare with numpy."""
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
