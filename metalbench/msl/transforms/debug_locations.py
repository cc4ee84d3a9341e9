"""Give every call a debug location, as LLVM demands."""

from __future__ import annotations

from metalbench.msl.ir.model import CallInstruction, Instruction
from metalbench.msl.ir.module import Module


def locate_calls(module: Module) -> None:
    """Give a debug location to every call in the functions that have lines.

    One inlinable call without a location is enough for LLVM to drop all debug information of a
    module when it reads it, and with it the lines of all findings. A call that a pass has added
    without a location gets that of the instruction before it in its block, else of the one behind
    it, else line 0 of the function.
    """
    for function in module.functions.values():
        if not (function.subprogram and function.has_unlocated_calls):
            continue
        nowhere = ""
        for block in function.blocks.values():
            located: Instruction | None = None
            waiting = list[CallInstruction]()
            for each in block.instructions:
                if ", !dbg " in each.text:
                    located = each
                    for call in waiting:
                        call.attach("dbg", located.place)
                    waiting.clear()
                elif isinstance(each, CallInstruction) and "@llvm." not in each.text:
                    if located is not None:
                        each.attach("dbg", located.place)
                    else:
                        waiting.append(each)
            if waiting and not nowhere:
                node = f"!DILocation(line: 0, scope: {function.subprogram})"
                nowhere = module.metadata.add(node)
            for call in waiting:
                call.attach("dbg", nowhere)
