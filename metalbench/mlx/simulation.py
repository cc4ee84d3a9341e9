"""Simulate a GPU for code that asks MLX for one, and run `mx.compile` and `mx.vmap` with values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from threading import local
from typing import Any

import mlx.core as mx

from metalbench.mlx.replacement import replace_attributes

# Simulate a GPU for code that asks MLX for one on a machine without GPU.
#
# `mx.gpu` is then a device that says it is a GPU and is MLX's cpu to MLX itself. So it may be given
# to every function that takes a device or a stream.

_GPU, _Device = mx.gpu, mx.Device
_STREAMS = ("default_stream", "new_stream", "new_thread_local_stream", "new_thread_unsafe_stream")


class SimulatedGPU(mx.Device):
    """The cpu to MLX, the GPU to Python."""

    def __init__(self) -> None:
        super().__init__(mx.cpu, 0)

    @property
    def type(self) -> mx.DeviceType:
        """That of a GPU."""
        return _GPU

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimulatedGPU) or other in (_GPU, _Device(_GPU, 0))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_GPU)

    def __repr__(self) -> str:
        return "Device(gpu, 0)"


GPU = SimulatedGPU()


class _Instances(type):
    """Devices that MLX makes are instances of what stands for its class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Device)


class Device(metaclass=_Instances):
    """Stands for `mx.Device`, whose GPU is MLX's own and cannot be used."""

    def __new__(cls, type: Any, index: int = 0) -> Any:
        """Return the device of this type."""
        return GPU if type == GPU else _Device(type, index)


_type_eq = mx.DeviceType.__eq__


def _equal(self: mx.DeviceType, other: object) -> bool:
    """MLX compares with what a device is to it, and would find its cpu."""
    return other == self if isinstance(other, SimulatedGPU) else _type_eq(self, other)


@contextmanager
def simulate_gpu() -> Iterator[None]:
    """MLX answers that it has Metal, and that its default device is the GPU."""
    has_gpu = hasattr(mx, "is_available") and mx.is_available(_GPU)
    with ExitStack() as stack:
        stack.enter_context(replace_attributes(mx.metal, is_available=lambda: True))
        # A GPU of another maker than Apple is one already.
        if not has_gpu:
            answers = _Devices().answers()
            stack.enter_context(replace_attributes(mx.DeviceType, __eq__=_equal))
            stack.enter_context(replace_attributes(mx, **answers))
            stack.enter_context(
                replace_attributes(mx.metal, device_info=partial(answers["device_info"], GPU))
            )
        yield


class _Devices:
    """MLX's functions on devices. As in MLX, all threads share the default device."""

    def __init__(self) -> None:
        self._default: mx.Device = GPU
        self._mlx = {name: getattr(mx, name) for name in dir(mx)}

    def answers(self) -> dict[str, Any]:
        """Return the replacements of MLX's attributes by name."""
        streams = {name: partial(self._on_cpu, name) for name in _STREAMS}
        return streams | {
            "gpu": GPU,
            "Device": Device,
            "default_device": lambda: self._default,
            "set_default_device": self.set_default_device,
            "stream": self.stream,
            "is_available": lambda device: device == GPU or self._mlx["is_available"](device),
            "device_count": lambda kind: 1 if kind == GPU else self._mlx["device_count"](kind),
            "device_info": self.device_info,
        }

    def set_default_device(self, device: Any) -> None:
        """`mx.set_default_device`."""
        self._on_cpu("set_default_device", device)
        self._default = _device(device)

    @contextmanager
    def stream(self, s: Any) -> Iterator[None]:
        """`mx.stream`; a stream, which cannot tell whose it is, leaves the default as it is."""
        before = self._default
        with self._on_cpu("stream", s):
            if isinstance(s, (mx.DeviceType, _Device)):
                self._default = _device(s)
            try:
                yield
            finally:
                self._default = before

    def device_info(self, d: Any = None) -> dict[str, str | int]:
        """`mx.device_info`: of the GPU what Metal tells, with the oldest GPU that MLX runs on."""
        if (self._default if d is None else d) != GPU:
            found: dict[str, str | int] = self._mlx["device_info"](mx.cpu)
            return found
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {
            "architecture": "applegpu_g13g",
            "device_name": "Apple M1 (simulated by metalbench)",
            "max_buffer_length": memory_bytes // 2,
            "max_recommended_working_set_size": memory_bytes * 3 // 4,
            "memory_size": memory_bytes,
            "resource_limit": 499000,
        }

    def _on_cpu(self, name: str, where: Any) -> Any:
        return self._mlx[name](GPU if where == GPU else where)


def _device(device: Any) -> mx.Device:
    """Return the device of which a device or its type speaks."""
    return device if isinstance(device, _Device) else Device(device)


# `mx.compile` and `mx.vmap` around kernels that need the values of their inputs.
#
# Both trace a function with arrays that have no values. A compiled function runs as it is instead:
# MLX has a switch for it that functions compiled long before obey, too. `mx.vmap` asks every
# operation how it is mapped once the values are there, and a kernel's answer is in mapping.py;
# until then its outputs are placeholders. Only while `mx.vmap` is known to be at work may a kernel
# give some: to `mx.compile` and `mx.export_function` they would be constants.


class _Depth(local):
    """The nesting depth of `mx.vmap` calls in this thread."""

    value = 0


_depth = _Depth()
_enable, _disable, _vmap = mx.enable_compile, mx.disable_compile, mx.vmap
# The last choice by `mx.enable_compile` or `mx.disable_compile`; None before any.
_compiles: bool | None = None


def in_vmap() -> bool:
    """Return whether an array without a value is one that `mx.vmap` gives the value of later."""
    return _depth.value > 0


@contextmanager
def outside_of_vmap() -> Iterator[None]:
    """While it maps an operation, the innermost `mx.vmap` has its values; others may not."""
    with _deeper(-1):
        yield


@contextmanager
def transformations() -> Iterator[None]:
    """Let functions with kernels be compiled and mapped."""
    global _compiles  # noqa: PLW0603 - it is MLX's switch, of which there is one
    _compiles = _is_compiling()
    switches = {"enable_compile": _enable_later, "disable_compile": _disable_later}
    with replace_attributes(mx, vmap=_counting_vmap, **switches):
        _disable()
        try:
            yield
        finally:
            if _compiles:
                _enable()
            _compiles = None


@contextmanager
def compiling() -> Iterator[None]:
    """`mx.compile` as MLX has it, also within `transformations`: for what is measured."""
    if not _compiles:
        yield
        return
    _enable()
    try:
        yield
    finally:
        _disable()


def _is_compiling() -> bool:
    """MLX tells only by what it does: it hands arrays without values to what it compiles."""
    found = []

    def look(x: mx.array) -> mx.array:
        try:
            x.item()
        except (RuntimeError, ValueError):
            found.append(True)
        return x

    mx.compile(look)(mx.array(0))
    return bool(found)


@wraps(_enable)
def _enable_later() -> None:
    global _compiles  # noqa: PLW0603
    _compiles = True


@wraps(_disable)
def _disable_later() -> None:
    global _compiles  # noqa: PLW0603
    _compiles = False


@wraps(_vmap)
def _counting_vmap(function: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., Any]:
    mapped = _vmap(function, *args, **options)

    @wraps(function)
    def count_depth(*args: Any, **options: Any) -> Any:
        with _deeper(1):
            return mapped(*args, **options)

    return count_depth


@contextmanager
def _deeper(by: int) -> Iterator[None]:
    _depth.value += by
    try:
        yield
    finally:
        _depth.value -= by
