"""Lets a run of pytest have the double's GPU: `-p cuda_double.plugin`, with CUDA_DOUBLE_KERNELS."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def kernels_of_the_double():
    """Whatever is built as PTX is built for the double as well."""
    from cuda_double.build import build_kernel

    from metalbench.msl import engine

    build = engine.build_for_gpu

    @wraps(build)
    def build_both(*arguments):
        built = build(*arguments)
        build_kernel(Path(built.path), Path(os.environ["CUDA_DOUBLE_KERNELS"]))
        return built

    engine.build_for_gpu = build_both
    yield
    engine.build_for_gpu = build
