"""Where lanes part: each goes its way alone, from the branch to where all meet.

Alone they run code of one lane, which stands in functions of their own: it is run rarely, as at the
edges of arrays, and keeps out of the way of what runs always. Branches within each other's regions
share a function, which is entered for any of them and left where the lanes of that one meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from metalbench.msl.emission.alike import Alike
from metalbench.msl.emission.alone import Alone
from metalbench.msl.emission.body import Body, bits_of
from metalbench.msl.emission.code import Code
from metalbench.msl.emission.lanes import Lanes
from metalbench.msl.emission.one_by_one import from_lane, keep, kept, over_lanes
from metalbench.msl.emission.parcels import Parcel, Parcels
from metalbench.msl.emission.trails import Result, brought, outermost, results_of
from metalbench.msl.emission.ways import choose
from metalbench.msl.ir.model import Block, Instruction, Phi, Value
from metalbench.msl.ir.places import Places
from metalbench.msl.vector.divergence import DivergentRegion
from metalbench.msl.vector.shapes import VARYING, Affine, Constant

Emit = Callable[[Body, Instruction], None]
ROWS = "%alone.rows"  # where lanes leave for each other what they bring and what they take along
_ALIGNMENT = 64
_FEW = 24  # instructions
_CALLED = re.compile(r"@mb_alone\.\d+\(")


@dataclass
class _Branch:
    """A branch of a walk: with what lanes come from it, and what they leave where they meet."""

    number: int
    region: DivergentRegion
    results: list[tuple[Result, list[int]]]  # and where their components lie
    parcels: list[tuple[Value, Parcel]] = field(default_factory=list)
    rows: str = ROWS


class Walks:
    """The functions in which lanes go alone; `parameters` are those of the one of all lanes."""

    def __init__(
        self, body: Body, alone: frozenset[Block], parameters: Mapping[str, str], emit: Emit
    ) -> None:
        self._body = body
        self._parameters = parameters
        self._emit = emit
        regions = body.analysis.uniformity.divergence.regions
        self._outermost = outermost(body.flow, regions, alone)
        self.branches = alone
        self._walks: dict[DivergentRegion, list[_Branch]] = {}
        self._bytes: dict[str, int] = {}

    def go(self, region: DivergentRegion, lanes: str) -> None:
        """Have these lanes go on alone from a region's branch, in whose block this is written."""
        body, code = self._body, self._body.code
        walk = self._walks.setdefault(self._outermost[region.branch], [])
        branch = self._branch(len(walk), region)
        walk.append(branch)
        number = list(self._walks).index(self._outermost[region.branch])
        given = [(type_, name) for name, type_ in self._parameters.items()]
        bits = code.number(lanes) if lanes else "-1"
        which = [(code.bits, bits), ("i32", str(branch.number)), ("ptr", branch.rows)]
        arguments = ", ".join(f"{type_} {value}" for type_, value in (*given, *which))
        code.line(f"call void @mb_alone.{number}({arguments})")
        everyone, body.mask = body.mask, lanes
        for result, offsets in branch.results:
            body.keep(result.kind, result.name, self._result(result, offsets, branch.rows))
        body.mask = everyone

    def _branch(self, number: int, region: DivergentRegion) -> _Branch:
        body = self._body
        rows = f"%{body.code.fresh('alone.rows')}" if self._stays(region) else ROWS
        parcels = Parcels(body, rows, tuple(self._parameters))
        results = [
            (result, [parcels.room(each) for each in body.components(result.type)])
            for result in results_of(body, region)
        ]
        branch = _Branch(number, region, results, rows=rows)
        for value in brought(body, region):
            branch.parcels.append((value, parcels.send(body.get(value))))
        self._bytes[rows] = max(self._bytes.get(rows, 0), parcels.bytes)
        return branch

    def _stays(self, region: DivergentRegion) -> bool:
        """Whether the code is put where it is called: it is little, and surely run by some."""
        shared = list(self._outermost.values()).count(self._outermost[region.branch])
        (condition,) = region.branch.terminator.operands
        is_known = isinstance(self._body.analysis.uniformity.get(condition), Constant)
        length = sum(len(block.instructions) for block in region.blocks)
        return is_known and shared == 1 and length <= _FEW

    def _result(self, result: Result, offsets: list[int], rows: str) -> Lanes:
        """What all lanes have brought, in the form that its shape says."""
        body, type_ = self._body, result.type
        kinds = body.components(type_)
        code, bits = body.code, body.code.bits
        vectors = tuple(
            kept(body, each, code.value(f"getelementptr i8, ptr {rows}, i64 {offset}"))
            for each, offset in zip(kinds, offsets, strict=True)
        )
        uniformity = body.analysis.uniformity.get(Value(type_, result.name))
        if result.kind == "turn" or uniformity is VARYING or isinstance(uniformity, Constant):
            return Lanes(type_, vectors=vectors)
        first = code.first(bits_of(body))
        firsts = [
            code.value(f"extractelement {code.lanes(each)} {vector}, {bits} {first}")
            for each, vector in zip(kinds, vectors, strict=True)
        ]
        scalar = body.put_together(type_, firsts)
        if not isinstance(uniformity, Affine):
            return Lanes(type_, scalar)
        lane = code.value(f"zext {bits} {first} to i64")
        zero = from_lane(body, Lanes(type_, scalar, -uniformity.stride), lane)
        return Lanes(type_, zero, uniformity.stride, "false" if uniformity.checked else "", vectors)

    def functions(self, attributes: str) -> list[str]:
        """The text of all functions, once everything else is written; makes room for the rows."""
        for rows, size in self._bytes.items():
            room = f"[{size} x i8], align {_ALIGNMENT}"
            self._body.code.entry.append(f"  {rows} = alloca {room}")
        found: list[str] = []
        alike, same = Alike(), dict[str, str]()
        for number, (region, branches) in enumerate(self._walks.items()):
            name = f"mb_alone.{number}"
            places = self._body.places.of_function(name)
            lines = self._function(name, region, branches, attributes, places)
            first = alike.first(name, lines, places)
            if first == name:
                found += lines
            else:
                same[f"@{name}("] = f"@{first}("
        if same:
            self._call_instead(same)
        return found

    def _call_instead(self, same: Mapping[str, str]) -> None:
        """Call functions by these other names, where all lanes do."""
        lines = self._body.code.lines
        for at, line in enumerate(lines):
            found = _CALLED.search(line)
            if found is not None and found[0] in same:
                lines[at] = line.replace(found[0], same[found[0]], 1)

    def _function(
        self,
        name: str,
        region: DivergentRegion,
        branches: list[_Branch],
        attributes: str,
        places: Places,
    ) -> list[str]:
        body, code = self._body, Code(self._body.width)
        code.declarations, code.place = body.code.declarations, places.nowhere

        def run(lane: str) -> None:
            alone = Alone(body, code, places, lane)
            _Walk(alone, region, branches, lane, self._emit).write()

        over_lanes(code, "%lanes", run)
        code.line("ret void")
        given = [f"{type_} {each}" for each, type_ in self._parameters.items()]
        given += [f"{code.bits} %lanes", "i32 %branch", f"ptr {ROWS}"]
        debug = f" !dbg {places.subprogram}" if places.subprogram else ""
        kind = "cold noinline" if branches[0].rows == ROWS else "alwaysinline"
        head = f"define internal void @{name}({', '.join(given)}){attributes} {kind}{debug} {{"
        return [head, "start:", *code.entry, *code.lines, "}"]


class _Walk:
    """One lane's way through a function."""

    def __init__(
        self, alone: Alone, region: DivergentRegion, branches: list[_Branch], lane: str, emit: Emit
    ) -> None:
        self._alone = alone
        self._code = alone.code
        self._region = region
        self._branches = branches
        self._lane = lane
        self._emit = emit

    def write(self) -> None:
        """From where the lane's branch leads to where lanes meet."""
        alone, code, rest = self._alone, self._code, self._branches[1:]
        if rest:
            cases = " ".join(f"i32 {each.number}, label %from.{each.number}" for each in rest)
            code.line(f"switch i32 %branch, label %from.0 [ {cases} ]")
        else:
            code.jump("from.0")
        for each in self._branches:
            code.label(f"from.{each.number}")
            for value, parcel in each.parcels:
                alone.enter(value, parcel.open(alone, ROWS, self._lane))
            alone.start(each.region.branch, "")
            self._leave(each.region.branch)
        joins = dict.fromkeys(each.region.join for each in self._branches)
        for block in alone.flow.order:
            if block in self._region.blocks:
                self._block(block, meets=block in joins)
        for join in joins:
            if join not in self._region.blocks:
                code.label(self._label(join))
                self._meet(join)
        code.label("met")

    def _label(self, block: Block) -> str:
        return f"b{self._alone.flow.position.get(block, 'end')}"

    def _block(self, block: Block, *, meets: bool) -> None:
        alone, code = self._alone, self._code
        code.label(self._label(block))
        if meets:
            self._meet(block)
        alone.start(block, "")
        for each in block.instructions[:-1]:
            alone.at(each)
            if isinstance(each, Phi):
                alone.phi(each)
            else:
                self._emit(alone, each)
        self._leave(block)

    def _meet(self, join: Block) -> None:
        """Lanes whose branch says so are done here; if it is a block of the walk, others go on."""
        code = self._code
        here = [each for each in self._branches if each.region.join is join]
        on = f"{self._label(join)}.on" if join in self._region.blocks else ""
        others = here if on else here[1:]
        cases = " ".join(f"i32 {each.number}, label %to.{each.number}" for each in others)
        default = on or f"to.{here[0].number}"
        code.line(f"switch i32 %branch, label %{default} [ {cases} ]")
        for each in here:
            code.label(f"to.{each.number}")
            self._take_along(each)
            code.jump("met")
        if on:
            code.label(on)

    def _take_along(self, branch: _Branch) -> None:
        """Leave what comes out where the other lanes find it."""
        alone, code = self._alone, self._code
        alone.start(branch.region.join, "")
        for result, offsets in branch.results:
            value = Value(result.type, result.name)
            is_phi = result.kind == "phi"
            lanes = alone.left(result.name, result.type) if is_phi else alone.get(value)
            kinds = alone.components(result.type)
            parts = alone.take_apart(result.type, lanes.scalar)
            for kind, offset, part in zip(kinds, offsets, parts, strict=True):
                row = code.value(f"getelementptr i8, ptr {ROWS}, i64 {offset}")
                keep(alone, kind, row, self._lane, part)

    def _leave(self, block: Block) -> None:
        """By a block's own branch."""
        self._alone.at(block.terminator)
        if not block.successors:
            self._go(block, self._alone.flow.exit)
        elif len(block.successors) == 1:
            self._go(block, block.successors[0])
        else:
            (condition,) = block.terminator.operands
            scalar = self._alone.get(condition).scalar
            choose(self._alone, block, scalar, lambda target: self._go(block, target))

    def _go(self, source: Block, target: Block) -> None:
        phis = target.phis if target.instructions else ()
        found = [(phi, phi.operands[phi.sources.index(source.name)]) for phi in phis]
        self._alone.assign(found, "")
        self._code.jump(self._label(target))
