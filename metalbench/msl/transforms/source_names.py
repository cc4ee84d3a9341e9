"""Names of the source for values in LLVM IR, before anything is optimised.

Clang's own check of subscripts (-fsanitize=array-bounds) passes the array's type and the index to
its handler. Here the handler also gets the name of the array, from the IR behind the check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeGuard

from metalbench.msl.ir.model import CallInstruction, ElementPointer, Function, Instruction, Memory
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import ArrayType, Named

_CHECK, _HANDLER = "__ubsan_handle_out_of_bounds", "mb_out_of_bounds"
# A variable's name in a symbol of the C++ ABI: of a function's own variable, or of a namespace's.
_SYMBOL = re.compile(r"_Z(?:Z.*E|N?L?)(\d+)(\w+)")
# A function of the MSL headers, a member or not, in a symbol of the C++ ABI.
_METAL_SYMBOL = re.compile(r"_ZN?K?V?K?[RO]?(?:5metal|2mb)")
# Instructions from a check to what is subscripted.
_NEAR = 10
# The deepest nesting of references and members that is named.
_DEEPEST = 8


def name_subscripts(module: Module) -> None:
    """Pass the name of the array to the handler of each check of a subscript.

    Raises IrError if the module has checks and no handler that takes a name.
    """
    names = Names(module, "@mb.name")
    for function in module.functions.values():
        if not function.mentions(f"@{_CHECK}("):
            continue
        if not module.declares(_HANDLER):
            raise IrError(f"the module has no {_HANDLER} for the subscripts of {function.name}")
        rewriter, definitions = Rewriter(function), function.definitions()
        for check, array in _checks(function):
            name = spell(array.operands[0].text, definitions) if array else ""
            if name:
                given = ", ".join(map(str, check.operands))
                call = f"call void @{_HANDLER}({given}, ptr {names.constant(name)})"
                rewriter.replace(check, f"{call}{check.attachments}")
        rewriter.apply()


def _checks(function: Function) -> Iterator[tuple[CallInstruction, ElementPointer | None]]:
    """Yield the call of each check that fails, with the address that is computed behind it."""
    flat = [each for _, each in function.instructions]
    for at, each in enumerate(flat):
        if isinstance(each, CallInstruction) and each.name == _CHECK:
            behind = islice(flat, at + 1, at + _NEAR)
            yield each, next((found for found in behind if is_element(found)), None)


class Names:
    """Names that a module has as string constants, each once. `prefix` begins their symbols."""

    def __init__(self, module: Module, prefix: str) -> None:
        self._module = module
        self._prefix = prefix
        self._numbers: dict[str, int] = {}

    def constant(self, name: str) -> str:
        """Return the constant of a name."""
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            self._module.add_string(f"{self._prefix}.{self._numbers[name]}", name)
        return f"{self._prefix}.{self._numbers[name]}"


def is_element(made: Instruction | None) -> TypeGuard[ElementPointer]:
    """Return whether an instruction gives the address of an element of an array."""
    return (
        isinstance(made, ElementPointer)
        and isinstance(made.element, ArrayType)
        and len(made.operands) > 2
        and str(made.operands[1]) == "i64 0"
        and made.operands[0].text[0] in "%@"
    )


def is_member(made: Instruction | None) -> TypeGuard[ElementPointer]:
    """Return whether an instruction gives the address of a member of a struct."""
    return (
        isinstance(made, ElementPointer)
        and isinstance(made.element, Named)
        and len(made.operands) == 3
        and str(made.operands[1]) == "i32 0"
        and made.operands[2].integer is not None
        and made.operands[0].text[0] in "%@"
    )


def is_load_of_pointer(made: Instruction | None) -> TypeGuard[Memory]:
    """Return whether an instruction loads a pointer, neither volatile nor atomic."""
    return (
        isinstance(made, Memory)
        and made.text.startswith("load ptr, ", made.text.find("load "))
        and made.address.text[0] in "%@"
    )


def spell(value: str, definitions: Mapping[str, Instruction], depth: int = 0) -> str:
    """Return a value as in the source: `tile`, `own.values`, `m[]`; "" for one without a name."""
    if value.startswith("@"):
        return name_of_symbol(value[1:].strip('"'))
    made = definitions.get(value)
    if depth == _DEEPEST or (made is None and value[1:].isdigit()):
        return ""
    if is_member(made):
        of = spell(made.operands[0].text, definitions, depth + 1)
        own = name_of_value(value)
        return f"{of}.{own}" if of and of != "this" else own
    if is_element(made):
        of = spell(made.operands[0].text, definitions, depth + 1)
        return f"{of}[]" if of else ""
    if is_load_of_pointer(made):
        return spell(made.address.text, definitions, depth + 1)
    return "" if value[1:].isdigit() else name_of_value(value)


def name_of_value(value: str) -> str:
    """Return the name of a variable in the source, of its value in LLVM IR.

    LLVM adds to names: `a.addr`, and `a5` for a second `a`.
    """
    return value[1:].strip('"').removesuffix(".addr").rstrip("0123456789") or value[1:]


def name_of_symbol(symbol: str) -> str:
    """Return the name of a variable in the source, of its symbol."""
    found = _SYMBOL.match(symbol)
    return found[2][: int(found[1])] if found else symbol


def is_metals(symbol: str) -> bool:
    """Return whether a function is one of the MSL headers, by its symbol."""
    return _METAL_SYMBOL.match(symbol) is not None
