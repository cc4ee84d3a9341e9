"""Pass the pointer that an access's address is computed from to the runtime of checked builds.

A pointer with an index may reach other memory of the kernel's than the pointer itself is of:
another buffer, another threadgroup variable. An address alone does not show that. So each address
that an access uses at once is passed to the runtime with the pointer that it is computed from.
"""

from __future__ import annotations

from typing import TypeGuard

from metalbench.msl.ir.model import CallInstruction, ElementPointer, Function, Memory
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.rewriter import Rewriter
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import POINTER
from metalbench.msl.transforms.source_names import is_metals

_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
_HELPER = "mb_moved"


def pass_origins(module: Module) -> None:
    """Call the runtime behind each address with an index in the user's functions.

    Raises IrError if the module has such an address and not the function to call.
    """
    for function in module.users_functions():
        indexed = [each for _, each in function.instructions if _is_indexed(each)]
        accessed = _find_accessed(function) if indexed else set()
        rewriter = Rewriter(function)
        for each in indexed:
            if each.result in accessed:
                call = f"call void @{_HELPER}({each.operands[0]}, ptr {each.result})"
                rewriter.insert_after(each, f"{call}{each.located}")
        if rewriter.apply() and not module.declares(_HELPER):
            raise IrError(f"the module has no {_HELPER} for the addresses of {function.name}")


def _is_indexed(each: object) -> TypeGuard[ElementPointer]:
    """Return whether an instruction moves a pointer by an index that is computed."""
    if not isinstance(each, ElementPointer) or len(each.operands) != 2 or not each.place:
        return False
    base, index = each.operands
    return base.type == POINTER and base.is_local and index.is_local


def _find_accessed(function: Function) -> set[str]:
    """Return the pointers through which memory, or a member of what is there, is accessed.

    Functions and operators of the MSL headers, and copies, access what their arguments point to.
    """
    accessed, members = set[str](), list[tuple[str, str]]()
    for _, each in function.instructions:
        if isinstance(each, Memory) and not each.is_atomic:
            accessed.add(each.address.text)
        elif isinstance(each, ElementPointer):
            base, first, *others = each.operands
            if others and str(first) == "i32 0" and all(o.integer is not None for o in others):
                members.append((each.result, base.text))
        elif isinstance(each, CallInstruction) and (
            is_metals(each.name) or each.name.startswith(_COPIES)
        ):
            accessed.update(given.text for given in each.operands if given.type == POINTER)
    for member, of in reversed(members):
        if member in accessed:
            accessed.add(of)
    return accessed
