"""The code of fibers, in an order in which lanes that part catch up with each other.

Fibers that wait at different calls go on in the order of these in the code, by
csrc/cpu/group_runner.cpp. So a call must stand behind all from which it is still reached, those of
a loop that comes before it included. LLVM keeps to no such order: its passes put a block wherever
they make it, and its placement of machine code puts what it takes to be rare behind all else. And
what is in a function that is called stands outside of all order: it is to be inlined.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from metalbench.msl.building import turns
from metalbench.msl.ir.flow import Flow, flow_of
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
_MEET = "@_ZN2mbL4meetE"
_CALLED = re.compile(r'\bcall [^\n@]*(@(?:"[^"\n]*"|[-\w.$]+))\(')
_NAME = re.compile(r'(@(?:"[^"\n]*"|[-\w.$]+))\(')
_OURS = re.compile(r"@_ZNK?2mb")
_GROUP = re.compile(r"(?<= )#(\d+)(?= )")
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{ (.*) \}$", re.MULTILINE)
_INLINING = re.compile(r"\b(?:noinline|alwaysinline|inlinehint) ")
_DEFINITION = re.compile(r"^(define [^\n]*\{\n)(.*?)^\}$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r'^("[^"\n]*"|[-\w.$]+):', re.MULTILINE)
_TARGET = re.compile(r'\blabel %("[^"\n]*"|[-\w.$]+)')
_UNNAMED = re.compile(r"%(\d+)\b")


def may_part(ir: str) -> bool:
    """Whether a module, before it is optimised, has calls at which lanes wait for each other."""
    return _MEETING.search(ir) is not None


def inlined(ir: str) -> str:
    """A module, before it is optimised, in which the functions where lanes may meet are inlined.

    Those that call themselves, or are called by their address, stay functions; so do those of ours
    that are to stay (`mb::run` parts what is checked from what is not).
    """
    meeting = _meeting(ir)
    attributes = dict(_ATTRIBUTES.findall(ir))
    unused = max((int(each) for each in attributes), default=-1) + 1
    made: dict[str, int] = {}

    def define(definition: re.Match[str]) -> str:
        name, group = _NAME.search(definition[1]), _GROUP.search(definition[1])
        is_local = definition[1].startswith(("define internal ", "define linkonce_odr "))
        if name is None or group is None or name[1] not in meeting or not is_local:
            return definition[0]
        if _OURS.match(name[1]) and "noinline" in attributes[group[1]]:
            return definition[0]
        number = made.setdefault(group[1], unused + len(made))
        return definition[0].replace(f" {group[0]} ", f" #{number} ", 1)

    ir = _DEFINITION.sub(define, ir)
    for group, number in made.items():
        kept = _INLINING.sub("", attributes[group])
        ir += f"attributes #{number} = {{ alwaysinline {kept} }}\n"
    return ir


def _meeting(ir: str) -> set[str]:
    """The functions of which a call is one at which lanes may meet."""
    callers = defaultdict(list)
    for head, body in _DEFINITION.findall(ir):
        if caller := _NAME.search(head):
            for called in _CALLED.findall(body):
                callers[called].append(caller[1])
    found: set[str] = set()
    waiting = [each for called in callers if called.startswith(_MEET) for each in callers[called]]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += callers[name]
    return found


def in_order(ir: str) -> str:
    """A module with the blocks of every function in which lanes may meet in order.

    Its calls are told the turns of loops that they are in, if the module has a function for that.
    """
    has_turns = f"void {turns.TELL}(" in ir

    def ordered(definition: re.Match[str]) -> str:
        return _in_order(definition, has_turns=has_turns)

    return _DEFINITION.sub(ordered, ir)


def _in_order(definition: re.Match[str], *, has_turns: bool) -> str:
    head, body = definition[1], definition[2]
    meetings = sum(1 for _ in _MEETING.finditer(body))
    if meetings < (1 if has_turns else 2):
        return definition[0]
    # Unnamed values are counted, parameters first: the entry has the number behind theirs.
    entry = len({*_UNNAMED.findall(head)})
    if _LABEL.match(body) is None:
        body = f"{entry}:\n{body}"
    texts = dict(_blocks(body))
    flow = _flow(texts)
    if flow is None:
        return definition[0]
    found = turns.counted(texts, flow, _MEETING) if has_turns else texts
    reached = [each.name for each in flow.order]
    order = [*reached, *(label for label in texts if label not in {*reached})]
    if meetings < 2 or order == [*texts]:
        return definition[0] if found == texts else head + "".join(found.values()) + "}"
    return _named(head + "".join(found[each] for each in order) + "}")


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


def _flow(texts: dict[str, str]) -> Flow | None:
    """How control flows; None where loops have several entries, or no end."""
    blocks = {label: Block(label) for label in texts}
    for label, text in texts.items():
        for target in dict.fromkeys(_TARGET.findall(text)):
            blocks[label].successors.append(blocks[target])
            blocks[target].predecessors.append(blocks[label])
    try:
        return flow_of(Function("", "", (), dict(blocks), Layout({})))
    except IrError:
        return None
