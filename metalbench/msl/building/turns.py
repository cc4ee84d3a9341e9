"""In which turns of its loops a fiber comes to a call at which lanes may meet.

Lanes that part in a loop, and then wait at different calls, are told apart by their turns: those
that are behind go first, so that the others find them where all of one turn meet. The place of a
call in the code says nothing of that, as the loop leads back from its last one to its first. So the
headers of loops around such calls count, and each call is told what they have counted to
(csrc/msl/mb/cpu/fiber_sync.h).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from metalbench.msl.ir.flow import Flow, Loop
from metalbench.msl.ir.model import Block

TELL = "@_ZN2mbL8in_turnsEPKj"
_NO_LOOP = -1
_PLACE = "%mb.turns"
_PHI = re.compile(r"^ *(?:%\S+|%\"[^\"\n]*\") = phi ")
_DEBUG_LOCATION = re.compile(r", !dbg !\d+")
_TARGET = re.compile(r'\blabel (%(?:"[^"\n]*"|[-\w.$]+))')


def counted(texts: Mapping[str, str], flow: Flow, meeting: re.Pattern[str]) -> dict[str, str]:
    """The text of every block by its label, with counts of turns if calls of `meeting` need them.

    They do where lanes may pass one by in a turn, or wait at another one.
    """
    calls = {block: len(meeting.findall(texts[block.name])) for block in flow.order}
    places = [block for block in flow.order if calls[block] and block in flow.loop_of]
    several = sum(calls.values()) > 1
    if not places or not (several or any(_may_pass_by(flow, block) for block in places)):
        return dict(texts)
    loops = [*dict.fromkeys(loop for block in places for loop in _around(flow, block))]
    number = {loop: at for at, loop in enumerate(loops)}
    found = dict(texts)
    for loop in loops:
        found[loop.header.name] = _counting(found, loop, number[loop])
    for block in flow.order:
        if calls[block]:
            around = [number[loop] for loop in _around(flow, block)]
            found[block.name] = _told(found[block.name], around, meeting)
    entry, deepest = next(iter(texts)), max(len(_around(flow, block)) for block in places)
    return found | {entry: _making_room(found[entry], 2 * deepest + 1)}


def _around(flow: Flow, block: Block) -> list[Loop]:
    """The loops that a block is in, the outermost first."""
    loop = flow.loop_of.get(block)
    found: list[Loop] = []
    while loop is not None:
        found.append(loop)
        loop = loop.parent
    return found[::-1]


def _may_pass_by(flow: Flow, block: Block) -> bool:
    return not all(
        flow.dominates(block, latch) for loop in _around(flow, block) for latch in loop.latches
    )


def _counting(texts: Mapping[str, str], loop: Loop, number: int) -> str:
    """The text of a loop's header, which counts how often it is come back to."""
    header = loop.header.name
    turn, after = f"{_PLACE}.{number}", f"{_PLACE}.{number}.next"
    ways = ", ".join(
        f"[ {after if block in loop.blocks else 0}, %{block.name} ]"
        for block in dict.fromkeys(loop.header.predecessors)
        for target in _TARGET.findall(texts[block.name])
        if target == f"%{header}"
    )
    lines = texts[header].split("\n")
    first = next(at for at, line in enumerate(lines[1:], 1) if line and not _PHI.match(line))
    lines[first:first] = [f"  {after} = add i32 {turn}, 1"]
    lines[1:1] = [f"  {turn} = phi i32 {ways}"]
    return "\n".join(lines)


def _told(text: str, around: Iterable[int], meeting: re.Pattern[str]) -> str:
    """The text of a block in which each call is told the turns of these loops."""
    words = [word for each in around for word in (str(each), f"{_PLACE}.{each}")]
    telling = [
        f"  store i32 {word}, ptr {_PLACE}.at.{at}, align 4"
        for at, word in enumerate([*words, str(_NO_LOOP)])
    ]
    lines: list[str] = []
    for line in text.split("\n"):
        if meeting.search(line):
            # In a function that has lines, a call must have one.
            place = _DEBUG_LOCATION.search(line)
            tell = f"  call void {TELL}(ptr {_PLACE}){place[0] if place else ''}"
            lines += [*telling, tell]
        lines.append(line)
    return "\n".join(lines)


def _making_room(text: str, words: int) -> str:
    """The text of the entry with room for so many."""
    label, _, rest = text.partition("\n")
    places = [
        f"  {_PLACE}.at.{at} = getelementptr i32, ptr {_PLACE}, i64 {at}" for at in range(words)
    ]
    return "\n".join([label, f"  {_PLACE} = alloca [{words} x i32], align 4", *places, rest])
