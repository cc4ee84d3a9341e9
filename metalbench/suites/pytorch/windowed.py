"""Convolutions and pools of images with channels first, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from metalbench.suites.kernelbench.problems.steps import WindowGeometry

Numbers = Sequence[int]


class Windowed:
    """They are done channels last."""

    _on: ModuleType

    def conv2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        """Return a convolution; weights are (filters, channels of a group, taps...)."""
        n = x.ndim - 2
        steps = WindowGeometry(_each(stride, n), _each(padding, n), _each(dilation, n), groups)
        y = self._first(self._on.convolution(self._last(x), self._last(weight), steps))
        return self._with(y, bias)

    conv1d = conv3d = conv2d

    def conv_transpose2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        """Return a transposed convolution; weights are (channels, filters of a group, taps...)."""
        n, channels = x.ndim - 2, weight.shape[0]
        steps = WindowGeometry(
            _each(stride, n),
            _each(padding, n),
            _each(dilation, n),
            groups,
            _each(output_padding, n),
        )
        taps, filters = tuple(weight.shape[2:]), weight.shape[1]
        split = self._on.reshape(weight, (groups, channels // groups, filters, *taps))
        turned = self._on.transpose(split, (0, 2, *range(3, 3 + n), 1))
        turned = self._on.reshape(turned, (groups * filters, *taps, channels // groups))
        y = self._first(self._on.transposed_convolution(self._last(x), turned, steps))
        return self._with(y, bias)

    conv_transpose1d = conv_transpose3d = conv_transpose2d

    def max_pool2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil: bool = False,
    ) -> Any:
        """Return the largest of every window."""
        n = x.ndim - 2
        taps, widths, apart = _each(kernel, n), _each(padding, n), _each(dilation, n)
        more: dict[str, Any] = {"ceil": True} if ceil else {}
        if set(apart) != {1}:
            more["dilation"] = apart
        steps = _each(stride, n) if stride else taps
        return self._first(self._on.max_pool(self._last(x), taps, steps, widths, **more))

    max_pool1d = max_pool3d = max_pool2d

    def avg_pool2d(  # noqa: PLR0917 - PyTorch's arguments
        self,
        x: Any,
        kernel: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil: bool = False,
        border: bool = True,
        divisor: Any = None,
    ) -> Any:
        """Return the mean of every window, zeros outside included."""
        n = x.ndim - 2
        taps, widths = _each(kernel, n), _each(padding, n)
        if ceil or divisor is not None or (any(widths) and not border):
            raise ValueError("avg_pool: expected the full window's mean, without ceil_mode")
        steps = _each(stride, n) if stride else taps
        return self._first(self._on.avg_pool(self._last(x), taps, steps, widths))

    avg_pool1d = avg_pool3d = avg_pool2d

    def adaptive_avg_pool2d(self, x: Any, shape: Any) -> Any:
        """Return the mean of as many windows as `shape` says, where they are equal."""
        n = x.ndim - 2
        wanted = _each(shape, n)
        if any(have % want for have, want in zip(x.shape[2:], wanted, strict=True)):
            raise ValueError(f"adaptive_avg_pool: expected a divisor of {x.shape[2:]}, got {shape}")
        if set(wanted) == {1}:
            return self._on.mean(x, tuple(range(2, x.ndim)), True)
        taps = tuple(have // want for have, want in zip(x.shape[2:], wanted, strict=True))
        return self.avg_pool2d(x, taps)

    adaptive_avg_pool1d = adaptive_avg_pool3d = adaptive_avg_pool2d

    def _with(self, y: Any, bias: Any) -> Any:
        if bias is None:
            return y
        return y + self._on.reshape(bias, (1, -1, *(1,) * (y.ndim - 2)))

    def _last(self, x: Any) -> Any:
        return self._on.transpose(x, (0, *range(2, x.ndim), 1))

    def _first(self, x: Any) -> Any:
        return self._on.transpose(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def _each(value: Any, n: int) -> tuple[int, ...]:
    if isinstance(value, str):
        raise ValueError(f"padding: expected numbers, got {value!r}")
    several = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return several * n if len(several) == 1 else several
