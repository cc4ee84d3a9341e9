"""Stages of the time until the first window: the noted functions exist."""

from __future__ import annotations

import importlib
import sys
from functools import reduce
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import start_stages

PLACES = (*start_stages.OF_COMMAND, *start_stages.OF_WORKER, *start_stages.OF_ATTEMPT)


@pytest.mark.parametrize("place", PLACES)
def test_noted_functions_exist(place):
    module, _, path = place.partition(":")
    found = reduce(getattr, path.split("."), importlib.import_module(module))
    assert callable(found) or isinstance(found, property)
