"""Generate the kernel around a source, with the signature that MLX generates.

Follows MLX 0.32 (mlx/backend/common/metal_kernel.cpp): inputs of fewer than eight elements are in
the constant address space, those without dimensions are references.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metalbench.custom_kernel.definition import Definition
from metalbench.custom_kernel.element_types import ElementType
from metalbench.custom_kernel.template import TemplateArgument

PRELUDE = Path(__file__).parent / "prelude"
_CONSTANT_BELOW = 8
_EXTENTS = {"shape": "int*", "strides": "int64_t*", "ndim": "int&"}


@dataclass(frozen=True)
class Passing:
    """The parameter form of one input. Calls with equal forms share a compiled kernel."""

    type: ElementType
    is_scalar: bool
    is_small: bool

    @classmethod
    def of(cls, type_: ElementType, shape: tuple[int, ...], size: int) -> Passing:
        """Return the form for an array of this type, shape and number of elements."""
        return cls(type_, not shape, size < _CONSTANT_BELOW)

    @property
    def tag(self) -> str:
        """The input's part of the kernel's name."""
        return self.type.msl + ("s" if self.is_scalar else "c" if self.is_small else "")


@dataclass(frozen=True)
class Variant:
    """One way to call a kernel; `outputs` are element types."""

    template: tuple[TemplateArgument, ...]
    inputs: tuple[Passing, ...]
    outputs: tuple[ElementType, ...]


class Generated:
    """The kernel that is generated for a definition and a variant."""

    def __init__(self, definition: Definition, variant: Variant) -> None:
        self.definition = definition
        self.variant = variant
        # A minus would end the name; MLX leaves it there, and such kernels do not compile.
        values = [each.value.replace("-", "minus") for each in variant.template]
        tags = [each.tag for each in variant.inputs] + [each.msl for each in variant.outputs]
        template = ["", *values] if values else []
        self.name = "_".join(["custom_kernel", definition.name, *template, *tags])

    @property
    def text(self) -> str:
        """The kernel as `verbose` shows it, without the prelude."""
        return "".join([_end_line(self.definition.header), self._opening(), *self._body()])

    @property
    def unit(self) -> str:
        """The compiled source. Line numbers are those of the user's header and source."""
        name = self.definition.name
        source, closing = self._body()
        return "\n".join(
            [
                '#include "mlx.h"',
                f'#line 1 "{self.file("header")}"',
                self.definition.header,
                f'#line 1 "{self.file("signature")}"',
                f'{self._opening()}#line 1 "{self.file("source")}"',
                f'{source}\n#line 1 "<end of {name}>"{closing}',
            ]
        )

    def file(self, part: str) -> str:
        """Return the name of the user's "source" or "header" in messages."""
        return f"<{self.definition.name} {part}>"

    def _opening(self) -> str:
        parameters = [*self._inputs(), *self._outputs()]
        lines = [f"  {text} [[buffer({index})]]" for index, text in enumerate(parameters)]
        attributes = self.definition.attributes.items()
        lines += [f"  {type_} {name} [[{name}]]" for name, type_ in attributes]
        template = ", ".join(f"{each.kind} {each.name}" for each in self.variant.template)
        first = f"template <{template}>\n" if template else ""
        return f"{first}[[kernel]] void {self.name}(\n" + ",\n".join(lines) + ") {\n"

    def _inputs(self) -> list[str]:
        found: list[str] = []
        for name, passing in zip(self.definition.input_names, self.variant.inputs, strict=True):
            space = "constant" if passing.is_small else "device"
            mark = "&" if passing.is_scalar else "*"
            found.append(f"const {space} {passing.type.msl}{mark} {name}")
            for what in self.extents(name, passing):
                found.append(f"const constant {_EXTENTS[what]} {name}_{what}")
        return found

    def extents(self, name: str, passing: Passing) -> list[str]:
        """Return the additional arguments of an input that the source uses: "shape", ..."""
        wanted = [what for what in _EXTENTS if self.definition.mentions(name, what)]
        return [] if passing.is_scalar else wanted

    def _outputs(self) -> list[str]:
        form = "device atomic<{}>* {}" if self.definition.atomic_outputs else "device {}* {}"
        types = zip(self.variant.outputs, self.definition.output_names, strict=True)
        return [form.format(type_.msl, name) for type_, name in types]

    def _body(self) -> tuple[str, str]:
        """Return the source, and what ends and instantiates the kernel."""
        values = ", ".join(each.value for each in self.variant.template)
        closing = "\n}\n"
        if values:
            function = f"{self.name}<{values}>"
            closing += f'\ntemplate [[host_name("{self.name}")]] [[kernel]] '
            closing += f"decltype({function}) {function};\n"
        return self.definition.source, closing


def _end_line(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
