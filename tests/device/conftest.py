"""The device suite: the same tests on every device that this machine has."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable

import pytest

from metalbench import _core

# What kernels do there is a fault on an NVIDIA GPU, and takes it from the process: see tests/cuda.
FAULTS_ON_CUDA = {
    "test_a_hang_is_ended_by_the_time_limit",
    "test_a_wild_pointer_is_reported_and_survived",
    "test_endless_recursion_is_reported",
    "test_an_endless_wait_is_ended",
    "test_plain_builds_agree_with_gpus",
    "test_buffers_may_be_bound_at_any_offset",
    "test_vectorised_loops_do_not_count_on_alignment",
    "test_an_invalid_address_is_not_reported_as_nil",
    "test_a_frame_below_the_limit_has_room_on_every_stack",
    "test_a_chain_of_calls_that_has_room",
    "test_recursion_ends_at_any_end_of_the_stack",
}
# What may never end there, or ends by a fault. macOS then ignores the process's GPU work for minutes.
FAULTS_ON_METAL = FAULTS_ON_CUDA | {
    "test_resident_threadgroups_can_wait_for_each_other",
    "test_a_scan_may_look_back_over_many_threadgroups",
    "test_threads_of_one_simdgroup_can_wait_for_each_other",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a Mac's GPU, run such tests only if asked. The caller gives each a process."""
    if "METAL_DOUBLE" in os.environ:
        return
    for item in items:
        call = getattr(item, "callspec", None)
        on_metal = call is not None and call.params.get("device") == "metal"
        if on_metal and item.originalname in FAULTS_ON_METAL:
            item.add_marker("gpu_fault")
            if not config.getoption("--gpu-faults"):
                why = "it may take the GPU from this process: --gpu-faults, alone in a process"
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(params=_core.devices())
def device(request: pytest.FixtureRequest) -> _core.Device:
    if request.param == "cuda" and request.node.originalname in FAULTS_ON_CUDA:
        pytest.skip("a fault takes an NVIDIA GPU from the process")
    return _core.open(request.param)


Compile = Callable[..., _core.Pipeline]


@pytest.fixture
def compile_kernel(device: _core.Device) -> Compile:
    """Compile a kernel's source, with the lines that every file begins with already there."""

    def compile_kernel(source: str, constants: dict | None = None, **options) -> _core.Pipeline:
        if options.get("checked") and not device.checked_builds:
            pytest.skip(f"the {device.kind} device has no checked builds")
        text = "#include <metal_stdlib>\nusing namespace metal;\n" + textwrap.dedent(source)
        options.setdefault("filename", "test.metal")
        return device.compile(text, **options).pipeline(constants=constants or {})

    return compile_kernel
