"""Replace the bodies of mathematical and matrix functions by one opaque call each.

The MSL headers compute these functions with many instructions of a processor. A GPU has an
instruction or a short sequence for each. An analysis of the kernel for a GPU must not see the
instructions of the processor: they count as registers, branches and code, and they stop LLVM from
unrolling loops.
"""

from __future__ import annotations

import re

from metalbench.msl.ir.model import Function, Terminator
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.types import POINTER

PREFIX = "mb_opaque_"
_FUNCTIONS = (
    *("exp", "exp2", "exp10", "log", "log2", "log10", "pow", "powr", "sqrt", "rsqrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinpi", "cospi", "tanpi"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "fmod", "rint", "round", "divide"),
)
# A function of namespace metal, metal::fast or metal::precise, in a symbol of the C++ ABI.
_SYMBOL = re.compile(r"_ZN5metal(?:(4fast|7precise))?(\d+)(\w+)")
_MATRIX = re.compile(
    r"_ZN2mbL?\d+(matrix_product_sum|matrix_read|matrix_write|matrix_lanes_(?:product|fragments))I"
)
_VALUES_ONLY = "nounwind willreturn memory(none)"
_MEMORY = "nounwind willreturn memory(argmem: readwrite)"
# Parameters of a product of matrices: the result, the factors and the summand, by reference.
_OF_PRODUCT = 4


def make_functions_opaque(module: Module) -> None:
    """Replace the bodies of mathematical functions and those of matrices by opaque calls.

    The module must not be optimised yet, and its matrices must be distributed over the lanes.
    """
    attributes = module.add_attribute_group(_VALUES_ONLY)
    memory = module.add_attribute_group(_MEMORY)
    declared: dict[str, str] = {}
    for name, function in module.functions.items():
        found = _MATRIX.match(name)
        if found is None:
            if named := name_function(name):
                _replace_function(function, named, declared)
        elif found[1] == "matrix_product_sum":
            _replace_product(function, declared)
        elif found[1].startswith("matrix_lanes"):
            _replace_tensor_product(function, declared)
        else:
            _replace_access(function, found[1], declared)
    for signature, kind in declared.items():
        module.add(f"declare {signature} {memory if kind == _MEMORY else attributes}")


def name_function(symbol: str) -> str:
    """Return the name of a mathematical function of Metal, of its symbol; "" for others."""
    found = _SYMBOL.match(symbol)
    name = found[3][: int(found[2])] if found else ""
    return name if name in _FUNCTIONS else ""


def _replace_function(function: Function, name: str, declared: dict[str, str]) -> None:
    """Replace the body of a function of values; leave one with references or without a result."""
    ends = [each for _, each in function.instructions if each.opcode == "ret"]
    if len(ends) != 1 or not ends[0].operands:
        return
    if any(each.type == POINTER for each in function.parameters):
        return
    (end,) = ends
    types = ", ".join(str(each.type) for each in function.parameters)
    given = ", ".join(map(str, function.parameters))
    result = end.operands[0].type
    opaque = f"@{PREFIX}{name}.{function.name}"
    declared[f"{result} {opaque}({types})"] = _VALUES_ONLY
    function.set_body(
        f"  %mb.result = call {result} {opaque}({given}){end.located}\n"
        f"  ret {result} %mb.result{end.located}"
    )


def _replace_product(function: Function, declared: dict[str, str]) -> None:
    """Replace the body of a product by loads of the factors, a call of values and a store."""
    place = _find_place(function)
    sizes = [function.parameter_bytes(at) for at in range(_OF_PRODUCT)]
    types = [f"i{8 * each}" for each in sizes]
    opaque = f"@{PREFIX}matrix_product.{'.'.join(types)}"
    declared[f"{types[0]} {opaque}({', '.join(types[1:])})"] = _VALUES_ONLY
    names = [each.text for each in function.parameters]
    loads = "".join(
        f"  %mb.{at} = load {types[at]}, ptr {names[at]}, align {sizes[at]}{place}\n"
        for at in range(1, _OF_PRODUCT)
    )
    given = ", ".join(f"{types[at]} %mb.{at}" for at in range(1, _OF_PRODUCT))
    function.set_body(
        f"{loads}  %mb.result = call {types[0]} {opaque}({given}){place}\n"
        f"  store {types[0]} %mb.result, ptr {names[0]}, align {sizes[0]}{place}\n"
        f"  ret void{place}"
    )


def _replace_tensor_product(function: Function, declared: dict[str, str]) -> None:
    """Replace the body of a product of tensors by a call with its operands."""
    place = _find_place(function)
    types = ", ".join(str(each.type) for each in function.parameters)
    given = ", ".join(map(str, function.parameters))
    opaque = f"@{PREFIX}tensor_product.{function.name}"
    declared[f"void {opaque}({types})"] = _MEMORY
    function.set_body(f"  call void {opaque}({given}){place}\n  ret void{place}")


def _replace_access(function: Function, name: str, declared: dict[str, str]) -> None:
    """Replace the body of a load or a store of a matrix by a call with the lane's two elements."""
    place = _find_place(function)
    matrix, *others = function.parameters
    size = function.parameter_bytes(0)
    pair = f"i{8 * size}"
    types = ", ".join(str(each.type) for each in others)
    given = ", ".join(map(str, others))
    opaque = f"@{PREFIX}{name}.{pair}"
    memory = f"{pair}, ptr {matrix.text}, align {size}{place}"
    if name == "matrix_read":
        declared[f"{pair} {opaque}({types})"] = _MEMORY
        body = f"""  %mb.result = call {pair} {opaque}({given}){place}
  store {pair} %mb.result, ptr {matrix.text}, align {size}{place}"""
    else:
        declared[f"void {opaque}({pair}, {types})"] = _MEMORY
        body = f"""  %mb.value = load {memory}
  call void {opaque}({pair} %mb.value, {given}){place}"""
    function.set_body(f"{body}\n  ret void{place}")


def _find_place(function: Function) -> str:
    """Return the debug location of the first instruction that ends a block."""
    return next(each.located for _, each in function.instructions if isinstance(each, Terminator))
