"""Shared state of the emission: values by name, their slots, and the mask of active lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from metalbench.msl.analysis.control_flow import Flow
from metalbench.msl.analysis.private_memory import FunctionAnalysis
from metalbench.msl.analysis.uniformity import (
    UNIFORM,
    VARYING,
    Affine,
    Constant,
    Uniformity,
    to_affine,
)
from metalbench.msl.ir.model import BasicBlock, Function, Instruction, Phi, Value
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.places import Places
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL, Layout, Type
from metalbench.msl.vectorize.ir_builder import IrBuilder, format_integer
from metalbench.msl.vectorize.lane_values import (
    LaneValue,
    ValueSlots,
    build_aggregate,
    emit_lane_vectors,
    list_components,
    list_offsets,
    split_components,
)

# Vector capabilities of the target processor that decide how lanes are emitted.

_WORD = 4  # bytes


@dataclass(frozen=True)
class VectorTarget:
    """Sizes of elements, in bytes, for which the target has masked accesses as instructions.

    LLVM lowers other masked accesses to one branch per lane.
    """

    masks_words: bool = False  # of four and eight bytes
    masks_all_sizes: bool = False

    def has_masked_access(self, size: int) -> bool:
        """Return whether contiguous elements of this size are loaded and stored with a mask."""
        return self.masks_all_sizes or (self.masks_words and size >= _WORD)

    def has_gather_scatter(self, size: int) -> bool:
        """Return whether elements of this size can be gathered and scattered."""
        return self.masks_all_sizes and size >= _WORD


def read_target(module: Module, function: Function) -> VectorTarget:
    """Return the target that a function of a module is compiled for."""
    features = module.find_target_features(function)
    return VectorTarget(masks_words="+avx2" in features, masks_all_sizes="+avx512bw" in features)


@dataclass(frozen=True)
class LaunchShape:
    """Lanes of one call: `width` threads, in `rows` consecutive along x, or at any positions."""

    width: int
    rows: bool


@dataclass(frozen=True)
class ScalarKernel:
    """The function of one lane, with the results of all analyses.

    Each lane calls the functions `serialized_calls` separately. `uses` has the blocks, other than
    its own, that use a value. `load_dependent` values depend on loads, `dead` ones are unused.
    `threadgroup_addresses` point to threadgroup memory. Instructions in `rematerialised` are
    emitted again at each use.
    """

    function: Function
    flow: Flow
    analysis: FunctionAnalysis
    launch: LaunchShape
    target: VectorTarget
    serialized_calls: frozenset[str]
    uses: Mapping[str, set[BasicBlock]]
    load_dependent: frozenset[str]
    dead: frozenset[str]
    threadgroup_addresses: frozenset[str]
    rematerialised: Mapping[str, Instruction]


EmitInstruction = Callable[["Emitter", Instruction], LaneValue | None]


class Emitter:
    """A function of a SIMD-group during its emission.

    Values that other blocks use are stored in slots: allocas, which LLVM promotes to registers
    (mem2reg). So blocks may be emitted in any order and more than once. `emit_instruction` emits an
    instruction that is neither a phi nor a terminator, and returns its result.
    """

    def __init__(
        self, kernel: ScalarKernel, ir: IrBuilder, places: Places, write: EmitInstruction
    ) -> None:
        self.kernel = kernel
        self.emit_instruction = write
        self.ir = ir
        self.places = places
        self.function = kernel.function
        self.flow = kernel.flow
        self.analysis = kernel.analysis
        self.launch = kernel.launch
        self.target = kernel.target
        self.slots = ValueSlots(ir, kernel.function.layout)
        self.block: BasicBlock = kernel.function.entry
        self.definitions: dict[str, Instruction] = {}  # of this block
        self.mask = ""  # of the active lanes; empty if all are
        self.is_scalar = False  # whether this emits a single lane
        self._parameters: dict[str, LaneValue] = {}
        self._values: dict[str, LaneValue] = {}  # in this block
        self._conditional_values: list[LaneValue] | None = None

    @property
    def layout(self) -> Layout:
        """Layout of the module's types."""
        return self.function.layout

    @property
    def width(self) -> int:
        """Number of lanes."""
        return self.ir.width

    def list_components(self, type_: Type) -> list[Type]:
        """Return the scalar types that a type consists of."""
        return list_components(type_, self.layout)

    def list_offsets(self, type_: Type) -> list[int]:
        """Return the offset of each scalar of a type in memory, in bytes."""
        return list_offsets(type_, self.layout)

    def is_load_dependent(self, value: Value) -> bool:
        """Return whether a value varies and depends on loads."""
        return value.text in self.kernel.load_dependent

    def is_constant(self, instruction: Instruction) -> bool:
        """Return whether the result is a constant in each lane, which needs no code."""
        shapes = self.analysis.uniformity.by_name
        return isinstance(shapes.get(instruction.result), Constant)

    def get_uniformity(self, value: Value) -> Uniformity:
        """Return the uniformity of a value as this block uses it."""
        return self.analysis.uniformity.get(value, self.block)

    def get_vectors(self, lanes: LaneValue) -> tuple[str, ...]:
        """Return a vector of all lanes for each component of a value."""
        if not lanes.vectors:
            emit_lane_vectors(self.ir, lanes, self.layout)
            if self._conditional_values is not None:
                self._conditional_values.append(lanes)
        return lanes.vectors

    def get_vector(self, lanes: LaneValue) -> str:
        """Return the vector of a scalar value."""
        (found,) = self.get_vectors(lanes)
        return found

    @contextmanager
    def conditional_block(self) -> Iterator[None]:
        """Emit conditional code: values that it computes are not available after it."""
        known, outer, self._conditional_values = dict(self._values), self._conditional_values, []
        yield
        for lanes in self._conditional_values:
            lanes.vectors = ()
        self._values, self._conditional_values = known, outer

    @property
    def parameters(self) -> dict[str, LaneValue]:
        """Values of the function's parameters, by name."""
        return self._parameters

    def set_location(self, instruction: Instruction) -> None:
        """Use the debug location of this instruction for the code emitted next."""
        if instruction.place:
            self.ir.debug_location = self.places.of(instruction.place)

    def split_components(self, type_: Type, value: str) -> list[str]:
        """Return the scalars of one value."""
        return split_components(self.ir, type_, value, self.layout)

    def build_aggregate(self, type_: Type, parts: list[str]) -> str:
        """Return one value built from its scalars."""
        return build_aggregate(self.ir, type_, parts, self.layout)

    def emit_position(self, name: str, type_: Type) -> LaneValue:
        """Return the positions of the lanes' threads, by the marker's name."""
        if name in ("simdgroup", "arena"):
            return LaneValue(type_, f"%{name}")
        if name == "lane":
            return LaneValue(type_, "0", 1)
        if name == "index" or (name == "x" and self.launch.rows):
            return LaneValue(type_, f"%{name}", 1)
        if self.launch.rows:
            return LaneValue(type_, f"%{name}")
        offset = "xyz".index(name) * self.width * self.layout.size(type_)
        place = self.ir.emit(f"getelementptr i8, ptr %positions, i64 {offset}")
        lanes = self.ir.vector_type(type_)
        return LaneValue(type_, vectors=(self.ir.emit(f"load {lanes}, ptr {place}, align 4"),))

    def start_block(self, block: BasicBlock, mask: str) -> None:
        """Begin another block, in which values are loaded from their slots."""
        self.block = block
        self.mask = mask
        self.definitions = {each.result: each for each in block.instructions if each.result}
        self._values = {}

    def add_parameter(self, name: str, lanes: LaneValue) -> None:
        """Add a value that is available from the start."""
        self._parameters[name] = lanes

    def get(self, value: Value) -> LaneValue:
        """Return an operand. Raise IrError."""
        if not value.is_local:
            return LaneValue(value.type, value.text)
        if value.text in self._parameters:
            return self._parameters[value.text]
        if value.text not in self._values:
            self._values[value.text] = self._fetch(value)
        return self._values[value.text]

    def _fetch(self, value: Value) -> LaneValue:
        instruction = self.kernel.rematerialised.get(value.text)
        if instruction is not None:
            return self._rematerialise(instruction)
        own = self.analysis.uniformity.get(value)
        if isinstance(own, Constant):
            return self._make_constant(value.type, own)
        defined = self.analysis.uniformity.definitions[value.text]
        if self.analysis.uniformity.divergence.is_temporally_divergent(defined, self.block):
            return self.slots.load("iteration", value.text, value.type, VARYING)
        return self.slots.load("value", value.text, value.type, own)

    def _rematerialise(self, instruction: Instruction) -> LaneValue:
        """Emit a rematerialised instruction again, and return its result."""
        found = self.emit_instruction(self, instruction)
        assert found is not None
        uniformity = self.analysis.uniformity.get(Value(instruction.type, instruction.result))
        return self.convert(found, uniformity)

    def _make_constant(self, type_: Type, known: Constant) -> LaneValue:
        items = ", ".join(f"{type_} {format_integer(type_, each)}" for each in known.values)
        vector = f"<{items}>"
        even = to_affine(known)
        if even is VARYING or type_ == BOOL:
            return LaneValue(type_, vectors=(vector,))
        stride = even.stride if isinstance(even, Affine) else 0
        return LaneValue(type_, format_integer(type_, known.values[0]), stride, vectors=(vector,))

    def define(self, instruction: Instruction, lanes: LaneValue) -> None:
        """Define an instruction's result, for this block and for the blocks that use it."""
        name = instruction.result
        if not name:
            return
        uniformity = self.analysis.uniformity.get(Value(instruction.type, name))
        if isinstance(uniformity, Constant):
            return
        lanes = self.convert(lanes, uniformity)
        self._values[name] = lanes
        if name in self.kernel.rematerialised:
            return
        uses = self.kernel.uses.get(name, ())
        divergence = self.analysis.uniformity.divergence
        if uses:
            # Also if all uses are temporal: a scalar region in the loop has the value as a live-in.
            self._store_slots("value", name, lanes, uniformity)
        if any(divergence.is_temporally_divergent(self.block, each) for each in uses):
            self._store_slots("iteration", name, lanes, VARYING, only=self.mask)

    def convert(self, lanes: LaneValue, uniformity: Uniformity) -> LaneValue:
        """Return a value in the representation of its uniformity. Raise IrError."""
        if uniformity is UNIFORM and not lanes.is_uniform:
            raise IrError(f"{self.function.name}: a value of {self.block.name} is not uniform")
        if uniformity is VARYING and lanes.indexed is not None:
            return lanes
        if uniformity is VARYING and lanes.scalar:
            return LaneValue(lanes.type, vectors=self.get_vectors(lanes))
        if isinstance(uniformity, Affine) and not lanes.scalar:
            raise IrError(f"{self.function.name}: a value of {self.block.name} is not affine")
        return lanes

    def store_live_out(self, kind: str, name: str, lanes: LaneValue) -> None:
        """Store a live-out of active lanes: a phi, or the value of each lane's last iteration."""
        is_phi = kind == "phi"
        uniformity = self.analysis.uniformity.get(Value(lanes.type, name)) if is_phi else VARYING
        if not isinstance(uniformity, Constant):
            self._store_slots(kind, name, lanes, uniformity, only=self.mask)

    # Edges assign phis at the end of blocks.

    def load_phi(self, phi: Phi) -> None:
        """Define a phi by the value that the edges stored."""
        uniformity = self.analysis.uniformity.get(Value(phi.type, phi.result))
        if not isinstance(uniformity, Constant):
            self.define(phi, self.slots.load("phi", phi.result, phi.type, uniformity))

    def assign_phis(self, phis: Sequence[tuple[Phi, Value]], only: str) -> None:
        """Store the values of phis on an edge; with the mask `only`, other lanes keep theirs."""
        found = []
        for phi, value in phis:
            uniformity = self.analysis.uniformity.get(Value(phi.type, phi.result))
            if not isinstance(uniformity, Constant):
                lanes = self.get(value)
                found.append((phi, lanes, uniformity))
        for phi, lanes, uniformity in found:
            free = lanes.scalar in ("poison", "undef")
            fits = LaneValue(lanes.type, "poison") if free else self.convert(lanes, uniformity)
            self._store_slots("phi", phi.result, fits, uniformity, only=only)

    def _store_slots(
        self, kind: str, name: str, lanes: LaneValue, uniformity: Uniformity, *, only: str = ""
    ) -> None:
        self.slots.store(kind, name, lanes, uniformity, self.get_vectors, only=only)


def get_mask(emitter: Emitter) -> str:
    """Return the mask of the active lanes as an operand."""
    return emitter.mask or "splat (i1 true)"


def emit_mask_bits(emitter: Emitter) -> str:
    """Return the mask of the active lanes as an integer."""
    if not emitter.mask:
        return "-1"
    return emitter.ir.mask_to_bits(emitter.mask)
