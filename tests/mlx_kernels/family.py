"""A family of MLX's kernels: headers, templates to instantiate, function constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from metalbench import _core
from metalbench.msl.frontend.standards import define_version

FLOATS = ("float", "half", "bfloat16_t")
INTEGERS = (
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
)
FOLDER = "mlx/backend/metal/kernels/"


@dataclass(frozen=True)
class Instance:
    """A kernel template and its arguments: `Instance("arange", "half")` is `arange<half>`."""

    template: str
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name that it is found by on the host."""
        letters = "_".join((self.template, *self.arguments))
        return "".join(letter if letter.isalnum() else "_" for letter in letters)

    @property
    def host_name(self) -> str:
        """The name in the library's list; a kernel that is not a template has its own name."""
        return self.name if self.arguments else self.template

    @property
    def text(self) -> str:
        """The instantiation in Metal."""
        if not self.arguments:
            return ""
        made = f"{self.template}<{', '.join(self.arguments)}>"
        return f'template [[host_name("{self.name}")]] [[kernel]] decltype({made}) {made};\n'


def of(template: str, *arguments: object) -> Instance:
    """An instance; bools and numbers are written as Metal writes them."""
    words = {True: "true", False: "false"}
    return Instance(template, tuple(words[a] if isinstance(a, bool) else str(a) for a in arguments))


@dataclass(frozen=True)
class Family:
    """Kernels of one operation.

    `headers` are relative to MLX's folder of kernels; `before` is text that must come before the
    last of them (what MLX's host code generates), `after` follows it. `constants` are the values
    of function constants by index unless a test says otherwise. `standard` is the version of
    Metal that the kernels need.
    """

    name: str
    headers: tuple[str, ...]
    instances: tuple[Instance, ...]
    constants: Mapping[int, bool | int] = field(default_factory=dict)
    before: str = ""
    after: str = ""
    standard: str = ""

    @cached_property
    def source(self) -> str:
        """The Metal source of the whole family."""
        includes = [f'#include "{FOLDER}{header}"\n' for header in self.headers]
        return "".join([*includes[:-1], self.before, includes[-1], self.after, *self._texts])

    @property
    def _texts(self) -> list[str]:
        return [instance.text for instance in self.instances]

    def library(
        self,
        device: _core.Device,
        headers: Path,
        checked: bool = False,
        tools: Sequence[str] = (),
    ) -> _core.Library:
        """The family, compiled as far as its list of kernels; without fast math, as MLX does."""
        return device.compile(
            self.source,
            filename=f"{self.name}.metal",
            include_dirs=[str(headers)],
            macros=define_version(self.standard),
            fast_math=False,
            checked=checked,
            tools=list(tools),
        )

    def pipeline(
        self,
        device: _core.Device,
        headers: Path,
        instance: Instance,
        constants: Mapping[int, bool | int] | None = None,
        *,
        checked: bool = False,
        tools: Sequence[str] = (),
    ) -> _core.Pipeline:
        """One of the kernels, ready to run."""
        values = {**self.constants, **(constants or {})}
        library = self.library(device, headers, checked, tools)
        return library.pipeline(instance.host_name, constants=values)
