"""Rematerialisation through the plugin: gradients, barriers and models agree with XLA."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from test_plugin import names_in, outcomes

SCRIPT = "functions_of_remat.py"
# These build few kernels.
SHORT = ("residuals_of_two_shapes", "barriers_of_all_kinds", "with_empty_arrays")
LONG = tuple(each for each in names_in(SCRIPT) if each not in SHORT)


@pytest.mark.xdist_group("plugin")
@pytest.mark.parametrize("name", SHORT)
def test_a_barrier_of_different_shapes_is_xlas(name):
    wrong = outcomes(SCRIPT, SHORT)[name]
    assert wrong is None, wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_rematerialised_program_is_xlas(name):
    if "flax" in name and find_spec("flax") is None:
        pytest.skip("flax is not installed")
    wrong = outcomes(SCRIPT, LONG)[name]
    assert wrong is None, wrong
