"""Format elementwise operations as MSL expressions, also on complex numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from metalbench.errors import Unsupported
from metalbench.hlo.codegen.writer import (
    Emitter,
    Index,
    KernelWriter,
    format_literal,
    format_lowest,
    get_msl_type,
)
from metalbench.hlo.ir import ElementType, Operation
from metalbench.hlo.operations import ELEMENTWISE, OPERATIONS

# Kernels that use these types call functions of the headers.
COMPLEX_TYPE, COMPLEX_HEADER = "float2", "complex.h"
DOUBLE_TYPE, DOUBLE_HEADER = "double", "double_math.h"
DOUBLE_COMPLEX_TYPE, DOUBLE_COMPLEX_HEADER = "double2", "double_complex.h"
SMALL_FLOAT_TYPES, SMALL_FLOAT_HEADER = ("shlo::F4", "shlo::F8"), "small_floats.h"
_EQUAL = {"EQ": "{0}.x == {1}.x && {0}.y == {1}.y", "NE": "{0}.x != {1}.x || {0}.y != {1}.y"}


def format_complex(operation: Operation, names: Sequence[str]) -> str:
    """Return a complex number with a real and an imaginary part."""
    return f"{get_msl_type(operation.results[0].type)}({names[0]}, {names[1]})"


def format_real(operation: Operation, names: Sequence[str]) -> str:
    """Return the real part; a number that is not complex is its own real part."""
    return f"{names[0]}.x" if operation.operands[0].type.element.is_complex else names[0]


def format_imag(operation: Operation, names: Sequence[str]) -> str:
    """Return the imaginary part; it is zero for a number that is not complex."""
    element = operation.operands[0].type.element
    return f"{names[0]}.y" if element.is_complex else f"{element.msl}(0)"


def format_complex_compare(operation: Operation, names: Sequence[str]) -> str:
    """Return whether numbers are equal or not. Raise Unsupported for an ordering."""
    direction = operation.attributes["comparison_direction"]
    if direction not in _EQUAL:
        raise Unsupported(f"{operation.where}: complex numbers have no order, got {direction}")
    return _EQUAL[direction].format(*names)


# Format elementwise operations as MSL expressions.

_DIRECTIONS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}
Expression = Callable[[Operation, Sequence[str]], str]


def truncate_integer(expression: str, element: ElementType) -> str:
    """Return an integer expression truncated to the type's bits.

    Integers of two and four bits are stored in a byte.
    """
    if not element.is_narrow:
        return f"{element.msl}({expression})"
    if element.kind == "u":
        return f"uchar(({expression}) & {2**element.bits - 1})"
    shift = 8 - element.bits
    return f"char(char(uint({expression}) << {shift}) >> {shift})"


def cast_to_float(name: str, element: ElementType) -> str:
    """Return a floating-point element in the type of arithmetic: an MSL float or double."""
    wide = element.arithmetic
    return name if element == wide else f"{wide.msl}({name})"


def round_float(expression: str, element: ElementType) -> str:
    """Return an expression of the type of arithmetic, rounded to an element of a float type."""
    return expression if element == element.arithmetic else f"{element.msl}({expression})"


def format_arithmetic(operation: Operation, names: Sequence[str]) -> str:
    """Return the registry's expression for an operation on elements of its type."""
    element = operation.results[0].type.element
    if operation.name == "abs" and operation.operands[0].type.element.is_complex:
        return f"shlo::absolute({names[0]})"
    form = OPERATIONS[operation.name].get_msl(element.kind)
    if not form:
        raise Unsupported(f"{operation.where}: not defined for elements of type {element.name}")
    if element.is_float:
        expression = form.format(*(cast_to_float(each, element) for each in names))
        return round_float(expression, element)
    if not element.is_integer:
        return form.format(*names)
    return truncate_integer(_format_integer(form, element, names), element)


def _format_integer(form: str, element: ElementType, names: Sequence[str]) -> str:
    """Return an integer expression with the names of its types filled in."""
    unsigned = f"u{element.msl.lstrip('u')}"
    # The reference interpreter treats the top bit of an unsigned number as a sign here.
    signed = replace(element, kind="i", msl=unsigned[1:])
    shifted = truncate_integer(names[0], signed)
    if element.is_narrow and "{M}" in form:
        names = [f"uchar({each} & {2**element.bits - 1})" for each in names]
    return form.format(
        *names,
        A=shifted,
        T=element.msl,
        U=element.wrapping,
        M=unsigned,
        G="long" if element.bits == 64 else "int",
        W=element.bits,
        S=max(8 - element.bits, 0),
    )


def format_compare(operation: Operation, names: Sequence[str]) -> str:
    """Return a comparison. TOTALORDER compares the bits."""
    element = operation.operands[0].type.element
    if element.is_complex:
        return format_complex_compare(operation, names)
    direction = _DIRECTIONS[operation.attributes["comparison_direction"]]
    if element.is_float and operation.attributes.get("compare_type") == "TOTALORDER":
        if element.is_small_float:
            names = [cast_to_float(each, element) for each in names]
        names = [f"shlo::total_order({each})" for each in names]
    elif element.is_float:
        names = [cast_to_float(each, element) for each in names]
    elif element.kind == "b":
        names = [f"int({each})" for each in names]
    return f"{names[0]} {direction} {names[1]}"


def format_is_finite(operation: Operation, names: Sequence[str]) -> str:
    """Return whether a number is neither infinite nor a NaN."""
    return f"shlo::isfinite({cast_to_float(names[0], operation.operands[0].type.element)})"


def format_convert(operation: Operation, names: Sequence[str]) -> str:
    """Return the operand, converted to the result's type."""
    return format_conversion(
        names[0], operation.operands[0].type.element, operation.results[0].type.element
    )


def format_conversion(name: str, source: ElementType, target: ElementType) -> str:
    """Return an element, converted to another type; floats saturate."""
    if source == target:
        return name
    if source.is_small_float:
        # These convert to float only.
        name, source = cast_to_float(name, source), source.arithmetic
    if source.is_complex or target.is_complex:
        return _format_complex_conversion(name, source, target)
    if target.kind == "b":
        zero = f"{source.arithmetic.msl}(0)"
        return f"{cast_to_float(name, source) if source.is_float else name} != {zero}"
    if target.is_float:
        # A double must be rounded once to a type with fewer bits than float.
        through = "shlo::to_odd_float" if source.has_double else "float"
        wide = name if target == target.arithmetic else f"{through}({name})"
        return f"{target.msl}({wide})"
    if not source.is_float:
        return truncate_integer(name, target)
    high = 2 ** (target.bits - (target.kind == "i")) - 1
    least = 0.0 if target.kind == "u" else -float(2 ** (target.bits - 1))
    limits = ", ".join(format_literal(each, source.arithmetic) for each in (least, high + 1))
    ends = f"{format_lowest(target)}, {format_literal(high, target)}"
    return f"shlo::to_integer<{target.msl}>({cast_to_float(name, source)}, {limits}, {ends})"


def _format_complex_conversion(name: str, source: ElementType, target: ElementType) -> str:
    part = source.arithmetic
    if source.is_complex and target.is_complex:
        return f"{target.msl}({name})"
    if target.is_complex:
        return f"{target.msl}({format_conversion(name, source, target.arithmetic)}, 0.0f)"
    if target.kind == "b":
        # The reference interpreter ignores the imaginary part here, too.
        return f"{name}.x != {part.msl}(0)"
    return format_conversion(f"{name}.x", part, target)


def format_select(operation: Operation, names: Sequence[str]) -> str:
    """Return one of two elements, selected by a predicate."""
    return f"{names[0]} ? {names[1]} : {names[2]}"


def format_clamp(operation: Operation, names: Sequence[str]) -> str:
    """Return the second operand, clamped to the first and the third; NaNs propagate."""
    element = operation.results[0].type.element
    low, middle, high = (
        cast_to_float(each, element) if element.is_float else each for each in names
    )
    if not element.is_float and not element.is_complex:
        if element.kind == "b":
            return f"({middle} || {low}) && {high}"
        above = f"({middle} > {low} ? {middle} : {low})"
        return f"{above} < {high} ? {above} : {high}"
    found = f"shlo::minimum(shlo::maximum({middle}, {low}), {high})"
    return round_float(found, element) if element.is_float else found


def format_reduce_precision(operation: Operation, names: Sequence[str]) -> str:
    """Return an element, rounded to a format with fewer bits."""
    element = operation.results[0].type.element
    bits = f"{operation.attributes['exponent_bits']}, {operation.attributes['mantissa_bits']}"
    return f"{element.msl}(shlo::reduce_precision({cast_to_float(names[0], element)}, {bits}))"


def _create_emitter(expression: Expression) -> Emitter:
    def emit(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
        names = [
            # Bounds of clamp and predicates of select may be scalars.
            writer.emit_value(each, index if each.type.shape else ())
            for each in operation.operands
        ]
        return [
            writer.declare(get_msl_type(operation.results[0].type), expression(operation, names))
        ]

    return emit


def emit_identity(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit the operands unchanged."""
    return [writer.emit_value(each, index) for each in operation.operands]


def emit_map(writer: KernelWriter, operation: Operation, index: Index) -> Sequence[str]:
    """Emit a region of scalars at an index."""
    names = [writer.emit_value(each, index) for each in operation.operands]
    return writer.emit_region(operation.regions[0], names)


# Operations whose expressions depend on their attributes or on operand types.
_WITH_TYPES: dict[str, Expression] = {
    "compare": format_compare,
    "complex": format_complex,
    "imag": format_imag,
    "real": format_real,
    "is_finite": format_is_finite,
    "convert": format_convert,
    "select": format_select,
    "clamp": format_clamp,
    "reduce_precision": format_reduce_precision,
}
EXPRESSIONS: dict[str, Expression] = {
    name: _WITH_TYPES.get(name, format_arithmetic) for name in sorted(ELEMENTWISE)
}
ELEMENTWISE_EMITTERS: dict[str, Emitter] = {
    **{name: _create_emitter(expression) for name, expression in EXPRESSIONS.items()},
    "map": emit_map,
    "optimization_barrier": emit_identity,
}


# Emit batch normalisation with given statistics.


def emit_batch_norm_inference(
    writer: KernelWriter, operation: Operation, index: Index
) -> Sequence[str]:
    """Emit (x - mean) / sqrt(variance + epsilon) * scale + offset for a feature.

    Numbers are computed in float, or in double if they have that type.
    """
    element = operation.results[0].type.element
    feature = (index[operation.attributes["feature_index"]],)
    operand, *of_features = operation.operands
    x = cast_to_float(writer.emit_value(operand, index), element)
    scale, offset, mean, variance = (
        cast_to_float(writer.emit_value(each, feature), element) for each in of_features
    )
    wide = element.arithmetic
    epsilon = format_literal(operation.attributes["epsilon"], wide)
    centred = writer.declare(wide.msl, f"{x} - {mean}")
    deviation = writer.declare(wide.msl, f"shlo::sqrt({variance} + {epsilon})")
    text = f"{centred} / {deviation} * {scale} + {offset}"
    return [writer.declare(element.msl, round_float(text, element))]


NORMALIZATION_EMITTERS: dict[str, Emitter] = {"batch_norm_inference": emit_batch_norm_inference}
