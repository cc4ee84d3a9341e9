"""Store constants that hold addresses of threadgroup memory at run time.

PTX has no initialiser with the generic address of a `.shared` variable: ptxas and the driver refuse
`threadgroup float* parts[2] = {s, s + 64}`. Such a constant becomes a variable of each function
that mentions it, stored at the function's entry. LLVM's passes then mostly remove the variable.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalbench.msl.ir.model import (
    CallInstruction,
    DebugRecord,
    Function,
    Instruction,
    Memory,
    Phi,
    Value,
)
from metalbench.msl.ir.module import Global, Module
from metalbench.msl.ir.read_instruction import unfold_constant
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import POINTER

_SHARED = "addrspace(3)"
_DEFAULT_ALIGNMENT = 8
# The intrinsics of a copy from global memory, and from generic memory.
_FROM_GLOBAL, _FROM_GENERIC = "llvm.memcpy.p0.p1.", "llvm.memcpy.p0.p0."


def store_shared_addresses(module: Module) -> None:
    """Store constants of shared addresses in the functions that use them.

    Raises IrError for a use that is not understood.
    """
    globals_ = module.globals
    constants = {name: each for name, each in globals_.items() if _holds_shared_address(each)}
    if not constants:
        return
    for function in module.functions.values():
        if any(map(function.mentions, constants)):
            _Tables(function, constants).replace(module)
    for name, each in constants.items():
        if not any(name in other.globals for other in globals_.values() if name in other.text):
            module.remove_line(each.text)


def _holds_shared_address(variable: Global) -> bool:
    return (
        _SHARED in variable.text
        and variable.kind in ("constant", "global")
        and _SHARED not in variable.words
        and _SHARED in variable.initializer
    )


class _Tables:
    """Variables of one function in place of constants."""

    def __init__(self, function: Function, constants: Mapping[str, Global]) -> None:
        self._function = function
        self._constants = constants
        self._rewriter = Rewriter(function)
        self._names = {name: f"%mb.table.{i}" for i, name in enumerate(constants)}
        self._used: set[str] = set()
        self._unfolded = 0
        # Instructions that compute operands of phis.
        self._of_phis: list[str] = []

    def replace(self, module: Module) -> None:
        """Replace all uses of the constants. Raises IrError for one that is not understood."""
        for _, each in self._function.instructions:
            if isinstance(each, DebugRecord) or self._constants.keys().isdisjoint(each.globals):
                continue
            # An address in a constant expression is replaced before the same one by itself.
            for operand in sorted(dict.fromkeys(each.operands), key=lambda of: -len(of.text)):
                value = self._materialize(operand, each)
                if value != operand:
                    each.replace_operand(operand, value)
                    if value.type != operand.type:
                        _access_generic_memory(each, module)
        stores = []
        for name, variable in self._constants.items():
            if name in self._used:
                alignment = variable.alignment or _DEFAULT_ALIGNMENT
                table, type_ = self._names[name], variable.type
                stores += [
                    f"{table} = alloca {type_}, align {alignment}",
                    f"store {type_} {variable.initializer}, ptr {table}, align {alignment}",
                ]
        self._rewriter.insert_at_start(self._function.entry, *stores, *self._of_phis)
        self._rewriter.apply()

    def _materialize(self, value: Value, user: Instruction) -> Value:
        """Return the value to use for an operand: itself if it mentions no such constant.

        What constant expressions compute becomes instructions.
        """
        if value.text in self._names:
            self._used.add(value.text)
            return Value(POINTER, self._names[value.text])
        name = f"%mb.table.address.{self._unfolded}"
        made = unfold_constant(value.text, name)
        if made is None or self._constants.keys().isdisjoint(made.globals):
            return value
        self._unfolded += 1
        for each in dict.fromkeys(made.operands):
            inner = self._materialize(each, user)
            if made.opcode == "addrspacecast" and inner.type == made.type:
                return inner
            if inner != each:
                made.replace_operand(each, inner)
        if isinstance(user, Phi):
            self._of_phis.append(made.text)
        else:
            self._rewriter.insert_before(user, made.text)
        return Value(made.type, name)


def _access_generic_memory(instruction: Instruction, module: Module) -> None:
    """Make an instruction valid whose operand was in global memory. Raises IrError for others."""
    if isinstance(instruction, Memory):
        return
    if not isinstance(instruction, CallInstruction) or not instruction.name.startswith(
        _FROM_GLOBAL
    ):
        raise IrError(f"no access of a constant: {instruction.text.strip()!r}")
    name = instruction.name.replace(_FROM_GLOBAL, _FROM_GENERIC)
    instruction.set_name(name)
    if not module.declares(name):
        module.add(f"declare void @{name}(ptr, ptr, {name.rpartition('.')[2]}, i1)")
