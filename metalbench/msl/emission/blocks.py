"""Blocks and the ways between them: branches where lanes stay together, masks where they part.

Every block is written for lanes that are all there. Those that only some lanes may come to are
written once more, with masks: where lanes part, they go on there, until all have met again. So what
masks cost is paid only where lanes do part, which they mostly could but do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalbench.msl.emission.again import gone_back_to
from metalbench.msl.emission.body import Body
from metalbench.msl.emission.choice import (
    going_alone,
    ways_of_all,
    with_masks,
    written_for_all,
)
from metalbench.msl.emission.lanes import Lanes, splat
from metalbench.msl.emission.walks import Emit, Walks
from metalbench.msl.emission.ways import choose, masks
from metalbench.msl.ir.model import Block, Phi, Value
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL
from metalbench.msl.vector.divergence import Divergence, DivergentRegion
from metalbench.msl.vector.lines import linearise
from metalbench.msl.vector.windows import BoundsGuards

EXIT = "end"
_MOST_LINES = 25_000  # clang takes seconds for more


def write_blocks(body: Body, live: str, parameters: Mapping[str, str], emit: Emit) -> Walks:
    """Write all blocks, and the function's end, for the lanes of the mask `live`, or for all.

    `parameters` are the function's, with their types. `emit` writes an instruction that is neither
    a phi nor a terminator. Returns the functions that are called. Raises IrError.
    """
    whole = body.analysis.uniformity.divergence
    alone = going_alone(whole)
    masked = with_masks(body.flow, whole, alone)
    walks = Walks(body, alone, parameters, emit)
    _Blocks(body, masked, walks, live, emit).write()
    return walks


class _Blocks:
    """Writes a function's blocks.

    A masked block has a mask in memory: the lanes that are on their way to it. It takes them all
    when it runs, and is skipped if there are none. `live` is the mask of all lanes there are; empty
    if none are missing.
    """

    def __init__(
        self,
        body: Body,
        divergence: Divergence,
        walks: Walks,
        live: str,
        emit: Emit,
    ) -> None:
        self._body = body
        self._code = body.code
        self._linearisation = linearise(body.flow, divergence)
        self._walks = walks
        self._live = live
        self._all = body.code.number(live) if live else "-1"
        self._emit = emit
        self._masks: dict[Block, str] = {}
        self._divergence = divergence
        guards = BoundsGuards(body.function, body.flow, body.analysis.uniformity, body.width)
        self._ways = ways_of_all(body, divergence, walks.branches, guards)
        # Where lanes go alone from that part at a branch.
        self._before = gone_back_to(body, self._ways, guards)
        self._apart: dict[Block, str] = {}

    def write(self) -> None:
        """All of them, and the end of the function."""
        self._code.jump(self._label(self._body.function.entry))
        for_all = written_for_all(self._body, self._divergence, self._ways)
        for block in self._body.flow.order:
            if len(self._code.lines) > _MOST_LINES:
                raise IrError(
                    f"it is too long: vectors of it are over {_MOST_LINES} lines of LLVM IR"
                )
            if block in for_all:
                self._whole(block)
            if block in self._divergence.masked:
                self._masked(block)
        self._code.label(EXIT)
        self._code.line("ret void")

    def _label(self, block: Block, *, masked: bool = False) -> str:
        if block is self._body.flow.exit:
            return EXIT
        return f"{'m' if masked else 'b'}{self._body.flow.position[block]}"

    def _in_line(self, block: Block) -> str:
        """Where masked lanes go on: with a masked block, or where all of them have met."""
        return self._label(block, masked=block in self._divergence.masked)

    def _whole(self, block: Block) -> None:
        """A block to which all lanes come together."""
        self._code.label(self._label(block))
        self._instructions(block, self._live)
        if block in self._body.analysis.uniformity.divergence.regions:
            self._part(block)
        else:
            self._together(block)

    def _masked(self, block: Block) -> None:
        """A block to which some lanes come."""
        code, name, slot = self._code, self._label(block, masked=True), self._mask(block)
        code.label(name)
        mask = code.value(f"load {code.mask}, ptr {slot}")
        code.line(f"store {code.mask} zeroinitializer, ptr {slot}")
        bits = code.number(mask)
        code.fork(self._equal(bits, "0"), f"{name}.past", f"{name}.some")
        code.label(f"{name}.some")
        if len(block.predecessors) > 1:
            code.fork(self._equal(bits, self._all), self._label(block), f"{name}.run")
            code.label(f"{name}.run")
        self._instructions(block, mask)
        for target, way in masks(self._body, block).items():
            self._edge(block, target, way, only=way)
        code.jump(f"{name}.past")
        code.label(f"{name}.past")
        for at, loop in enumerate(self._linearisation.ended_loops.get(block, ())):
            waiting = code.number(code.value(f"load {code.mask}, ptr {self._mask(loop.header)}"))
            ahead = f"{name}.out{at}"
            code.fork(self._equal(waiting, "0"), ahead, self._label(loop.header, masked=True))
            code.label(ahead)
        code.jump(self._in_line(self._linearisation.next_block[block]))

    def _instructions(self, block: Block, mask: str) -> None:
        self._body.start(block, mask)
        for each in block.instructions[:-1]:
            self._body.at(each)
            if isinstance(each, Phi):
                self._body.phi(each)
            else:
                self._emit(self._body, each)
        self._body.at(block.terminator)

    def _equal(self, one: str, other: str) -> str:
        return self._code.value(f"icmp eq {self._code.bits} {one}, {other}")

    def _mask(self, block: Block) -> str:
        if block not in self._masks:
            self._masks[block] = self._code.variable(self._code.mask, zero=True)
        return self._masks[block]

    def _together(self, block: Block) -> None:
        """All lanes take one way."""
        if not block.successors:
            self._code.jump(EXIT)
        elif len(block.successors) == 1:
            self._go(block, block.successors[0])
        else:
            (condition,) = block.terminator.operands
            self._choose(block, self._body.get(condition).scalar)

    def _go(self, block: Block, target: Block) -> None:
        """All lanes go there."""
        self._edge(block, target, self._live, only="")
        self._code.jump(self._label(target))

    def _choose(self, block: Block, scalar: str) -> None:
        """A branch of all lanes, by the one condition that they have."""
        choose(self._body, block, scalar, lambda target: self._go(block, target))

    def _part(self, block: Block) -> None:
        """Lanes may part here. If they do not, all take one way."""
        code = self._code
        (operand,) = block.terminator.operands
        condition = self._body.get(operand)
        if block in self._before:
            self._apart[block] = self._apart[self._before[block]]
            self._stay(block, condition, self._apart[block])
            return
        apart = self._apart[block] = code.fresh("apart")
        self._stay(block, condition, apart)
        code.label(apart)
        if block in self._walks.branches:
            with self._body.arm():
                region = self._body.analysis.uniformity.divergence.regions[block]
                self._walk(block, region, condition)
            return
        with self._body.arm():
            for target, way in masks(self._body, block).items():
                self._edge(block, target, way, only=way)
        if block in self._divergence.masked:
            code.jump(f"{self._label(block, masked=True)}.past")
        else:
            code.jump(self._in_line(self._linearisation.first_block[block]))

    def _stay(self, block: Block, condition: Lanes, apart: str) -> None:
        """All lanes take one way, or it goes on at `apart`."""
        code, ways = self._code, self._ways.get(block, block.successors)
        if not ways:
            code.jump(apart)
            return
        if len(ways) == len(block.successors):
            alike, scalar = self._agreed(condition)
        else:
            alike, scalar = self._is_of_all(block, ways[0], condition), ""
        together = code.fresh("together")
        code.fork(alike, together, apart)
        code.label(together)
        with self._body.arm():
            if scalar:
                self._choose(block, scalar)
            else:
                self._go(block, ways[0])

    def _walk(self, block: Block, region: DivergentRegion, condition: Lanes) -> None:
        """Those that do not come to the meeting point at once go their ways alone."""
        if condition.ends is not None:  # rare: all go, so that none need be told apart
            self._walks.go(region, "")
            self._code.jump(self._label(region.join))
            return
        code, lanes = self._code, ""
        for target, way in masks(self._body, block).items():
            if target is region.join:
                self._assign(block, target, only=way)
            else:
                lanes = code.value(f"or {code.mask} {lanes}, {way}") if lanes else way
        if condition.type != BOOL:  # lanes with different numbers may all go to the meeting point
            some = code.fresh("some")
            none = self._equal(code.number(lanes), "0")
            code.fork(none, self._label(region.join), some)
            code.label(some)
        self._walks.go(region, lanes)
        code.jump(self._label(region.join))

    def _agreed(self, condition: Lanes) -> tuple[str, str]:
        """Whether all lanes have the same condition, and which."""
        code = self._code
        if condition.ends is not None:
            first, last, holds = condition.ends
            same = code.value(f"icmp eq i1 {first}, {last}")
            return code.value(f"and i1 {same}, {holds}"), first
        vector = self._body.vector(condition)
        lanes = code.lanes(condition.type)
        if lanes == code.mask:
            bits = code.number(code.among(self._live, vector))
            all_, none = self._equal(bits, self._all), self._equal(bits, "0")
            return code.value(f"or i1 {all_}, {none}"), all_
        first = code.first(self._all) if self._live else "0"
        one = code.value(f"extractelement {lanes} {vector}, {code.bits} {first}")
        same = code.value(f"icmp eq {lanes} {vector}, {splat(code, condition.type, one)}")
        return self._equal(code.number(code.among(self._live, same)), self._all), one

    def _is_of_all(self, block: Block, target: Block, condition: Lanes) -> str:
        """Whether all lanes take this one of two ways."""
        code, is_so = self._code, block.terminator.targets[0] == target.name
        if condition.ends is None:
            bits = code.number(code.among(self._live, self._body.vector(condition)))
            return self._equal(bits, self._all if is_so else "0")
        first, last, holds = condition.ends
        if not is_so:
            first, last = (code.value(f"xor i1 {each}, true") for each in (first, last))
        both = code.value(f"and i1 {first}, {last}")
        return code.value(f"and i1 {both}, {holds}")

    def _edge(self, source: Block, target: Block, mask: str, only: str) -> None:
        """What phis get on this way, and who goes it; `only` some lanes' where others go another.

        Without `only`, all lanes go on in the target's form for all.
        """
        self._assign(source, target, only)
        if only and target in self._divergence.masked:
            code, slot = self._code, self._mask(target)
            before = code.value(f"load {code.mask}, ptr {slot}")
            now = code.value(f"or {code.mask} {before}, {mask}")
            code.line(f"store {code.mask} {now}, ptr {slot}")

    def _assign(self, source: Block, target: Block, only: str) -> None:
        if target is not self._body.flow.exit:
            found: list[tuple[Phi, Value]] = [
                (phi, phi.operands[phi.sources.index(source.name)]) for phi in target.phis
            ]
            self._body.assign(found, only)
