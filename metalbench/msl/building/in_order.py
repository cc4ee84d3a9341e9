"""The code of fibers, in an order in which lanes that part catch up with each other.

Fibers that wait at different calls go on in the order of these in the code, by
csrc/cpu/group_runner.cpp. So a call must stand behind all from which it is still reached, those of
a loop that comes before it included. LLVM keeps to no such order: its passes put a block wherever
they make it, and its placement of machine code puts what it takes to be rare behind all else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench.msl.ir.flow import flow_of
from metalbench.msl.ir.model import Block, Function
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import Layout

# What is left to do to a module in order: machine code whose blocks stay where they are.
FLAGS = [
    *("-Xclang", "-disable-llvm-passes"),
    *("-mllvm", "-disable-block-placement"),
    *("-mllvm", "-disable-branch-fold"),
]
_MEETING = re.compile(r"\bcall [^\n]*@_ZN2mbL4meetE")
_DEFINITION = re.compile(r"^(define [^\n]*\{\n)(.*?)^\}$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r'^("[^"\n]*"|[-\w.$]+):', re.MULTILINE)
_TARGET = re.compile(r'\blabel %("[^"\n]*"|[-\w.$]+)')
_UNNAMED = re.compile(r"%(\d+)\b")


def may_part(ir: str) -> bool:
    """Whether a module, before it is optimised, has calls at which lanes wait for each other."""
    return _MEETING.search(ir) is not None


def in_order(ir: str) -> str:
    """A module with the blocks of every function in which lanes may meet in order."""
    return _DEFINITION.sub(_function_in_order, ir)


def _function_in_order(definition: re.Match[str]) -> str:
    head, body = definition[1], definition[2]
    if sum(1 for _ in _MEETING.finditer(body)) < 2:
        return definition[0]
    # Unnamed values are counted, parameters first: the entry has the number behind theirs.
    entry = len({*_UNNAMED.findall(head)})
    if _LABEL.match(body) is None:
        body = f"{entry}:\n{body}"
    texts = dict(_blocks(body))
    order = _order(texts)
    if order == [*texts]:
        return definition[0]
    return _named(head + "".join(texts[each] for each in order) + "}")


def _named(text: str) -> str:
    """With names for unnamed values: LLVM takes numbers only as they come."""
    labels = re.sub(r"^(\d+):", r"mb.unnamed.\1:", text, flags=re.MULTILINE)
    return _UNNAMED.sub(r"%mb.unnamed.\1", labels)


def _blocks(body: str) -> Iterator[tuple[str, str]]:
    """The text of every block, by its label."""
    labels = [*_LABEL.finditer(body)]
    ends = [*(each.start() for each in labels[1:]), len(body)]
    for label, end in zip(labels, ends, strict=True):
        yield label[1], body[label.start() : end]


def _order(texts: dict[str, str]) -> list[str]:
    """Labels in order; as they are where loops have several entries, or no end."""
    blocks = {label: Block(label) for label in texts}
    for label, text in texts.items():
        for target in dict.fromkeys(_TARGET.findall(text)):
            blocks[label].successors.append(blocks[target])
            blocks[target].predecessors.append(blocks[label])
    try:
        flow = flow_of(Function("", "", (), dict(blocks), Layout({})))
    except IrError:
        return [*texts]
    reached = [each.name for each in flow.order]
    return [*reached, *(label for label in texts if label not in {*reached})]
