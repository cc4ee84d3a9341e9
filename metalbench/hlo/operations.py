"""Register every StableHLO operation: its kind, arity, cost, and how MSL, MLX and numpy compute it.

`OPERATIONS` is the only table of facts about operations. Passes, emitters and MLX forms derive
their own tables from it, and `tests/hlo/test_operations.py` compares them. To add an operation, add
one entry here. CONTRIBUTING.md lists what operations with attributes or several stages need.

Arities are those of the StableHLO specification, section "Ops". A few operations are not from
StableHLO: passes make those of the kinds `FUSED`, `FUSED_LOOP`, `PACKING`, `PACKED` and
`HOST_REGION`, and custom calls become those that have a `custom_call`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from metalbench.errors import Unsupported
from metalbench.hlo.ir import ELEMENT_TYPES, Operation


class OperationKind(Enum):
    """The way in which kernels compute an operation."""

    ELEMENTWISE = "each result element depends only on the operand elements at its index"
    COMPOUND = "one thread for each element, but not fused like elementwise operations"
    MOVEMENT = "a map of indices without arithmetic on elements"
    LOOP = "one result element is a loop over many operand elements"
    STAGED = "one or more stages over whole tensors"
    FACTORIZATION = "one threadgroup for each matrix"
    CONTROL_FLOW = "the host reads the predicate and runs the regions"
    HOST_CALL = "the host calls a Python function"
    HOST_REGION = "the begin or the end of operations that the host's processors run"
    PACKING = "a pass makes it: a stage that packs the operand of a product"
    PACKED = "a pass makes it: a loop over operands that are packed"
    FUSED_LOOP = "a pass makes it of a loop: each thread runs all iterations on one element"
    FUSED = "a pass fuses several operations into it; one kernel computes it"
    COLLECTIVE = "communication of several devices, or a device's number"
    LEGALIZED = "replaced by other operations before code generation"


@dataclass(frozen=True)
class Arity:
    """An allowed number of operands, results or regions; `most` is None for any number."""

    least: int
    most: int | None

    def allows(self, count: int) -> bool:
        """Return whether an operation may have `count` of them."""
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


NONE, ONE, TWO, THREE = (Arity(count, count) for count in range(4))
ANY, SOME = Arity(0, None), Arity(1, None)


@dataclass(frozen=True)
class OperationInfo:
    """The facts about one operation.

    `cost` is the time of one element, in additions. `float_msl`, `integer_msl`, `bool_msl` and
    `complex_msl` are MSL expressions of the operands {0} and {1} (see codegen/elementwise.py). An
    empty expression means that the operation is not defined for such elements. `mlx` names the
    function of mlx.core with the same operands. If `has_mlx_form`, bench/rivals.py has a function
    for the operation because its attributes matter. `mlx_reduction` names the reduction of MLX by
    this operation. `numpy` names a function whose result for floats is the only one that IEEE 754
    allows. `custom_call` is the target of the custom call that becomes this operation. If
    `reads_operand_once`, an operation of kind `STAGED` reads each element of its first operand
    once, so that the element can be computed at that place. If `preserves_splat`, all elements of
    the result are equal if all elements of the operand are. If `is_transcendental`, it is a root,
    an exponential or the like.
    """

    name: str
    kind: OperationKind
    operands: Arity
    results: Arity = ONE
    regions: Arity = NONE
    cost: int = 1
    float_msl: str = ""
    integer_msl: str = ""
    bool_msl: str = ""
    complex_msl: str = ""
    mlx: str = ""
    has_mlx_form: bool = False
    mlx_reduction: str = ""
    numpy: str = ""
    custom_call: str = ""
    reads_operand_once: bool = False
    preserves_splat: bool = False
    is_transcendental: bool = False

    def get_msl(self, element_kind: str) -> str:
        """Return the MSL expression for elements of a kind ("b", "i", "u", "f" or "c"), or ""."""
        return {
            "b": self.bool_msl,
            "i": self.integer_msl,
            "u": self.integer_msl,
            "f": self.float_msl,
            "c": self.complex_msl,
        }[element_kind]

    @property
    def is_reducer(self) -> bool:
        """Whether it may combine the elements of a row in any order, from an identity element."""
        return bool(self.mlx_reduction)


# The cost of divisions, roots and transcendental functions, in additions.
_COSTLY = 8
_LOOP_COST = 1000


_unary = partial(OperationInfo, kind=OperationKind.ELEMENTWISE, operands=ONE)
_binary = partial(OperationInfo, kind=OperationKind.ELEMENTWISE, operands=TWO)
_ternary = partial(OperationInfo, kind=OperationKind.ELEMENTWISE, operands=THREE)
_movement = partial(OperationInfo, kind=OperationKind.MOVEMENT, cost=0)
_loop = partial(OperationInfo, kind=OperationKind.LOOP, cost=_LOOP_COST)
_staged = partial(OperationInfo, kind=OperationKind.STAGED)
_factorization = partial(OperationInfo, kind=OperationKind.FACTORIZATION, operands=ONE)
_control_flow = partial(OperationInfo, kind=OperationKind.CONTROL_FLOW, results=ANY)
_fused = partial(OperationInfo, kind=OperationKind.FUSED, operands=NONE, regions=ONE)
_collective = partial(OperationInfo, kind=OperationKind.COLLECTIVE)
_legalized = partial(OperationInfo, kind=OperationKind.LEGALIZED)

# In integer expressions, {T} is the type, {U} the unsigned type whose arithmetic wraps, {M} the
# unsigned type of the same bits, {W} the number of bits, {S} 8 minus that number or 0, {A} is {0}
# as a signed number, and {G} a signed type wide enough for it.
_ALL = (
    _unary(
        "abs",
        float_msl="shlo::fabs({0})",
        integer_msl="{0} < {T}(0) ? {T}({U}(0) - {U}({0})) : {0}",
        mlx="abs",
        numpy="abs",
    ),
    _binary(
        "add",
        float_msl="{0} + {1}",
        integer_msl="{U}({0}) + {U}({1})",
        bool_msl="{0} || {1}",
        complex_msl="{0} + {1}",
        mlx="add",
        mlx_reduction="sum",
        numpy="add",
    ),
    _binary(
        "and",
        integer_msl="{0} & {1}",
        bool_msl="{0} && {1}",
    ),
    _binary(
        "atan2",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::atan2({0}, {1})",
        complex_msl="shlo::arc_tangent({0}, {1})",
        mlx="arctan2",
    ),
    _unary(
        "cbrt",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::cbrt({0})",
        complex_msl="shlo::cbrt({0})",
    ),
    _unary("ceil", float_msl="shlo::ceil({0})", mlx="ceil"),
    _ternary("clamp", has_mlx_form=True),
    _binary("compare", has_mlx_form=True),
    _binary("complex"),
    _unary("convert", has_mlx_form=True),
    _unary(
        "cosine",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::cos({0})",
        complex_msl="shlo::cosine({0})",
        mlx="cos",
    ),
    _unary("count_leading_zeros", integer_msl="clz({M}({0})) - {S}"),
    _binary(
        "divide",
        cost=_COSTLY,
        float_msl="{0} / {1}",
        integer_msl="shlo::divide({0}, {1})",
        complex_msl="shlo::divide({0}, {1})",
        has_mlx_form=True,
        numpy="divide",
    ),
    _unary(
        "exponential",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::exp({0})",
        complex_msl="shlo::exponential({0})",
        mlx="exp",
    ),
    _unary(
        "exponential_minus_one",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::expm1({0})",
        complex_msl="shlo::exponential_minus_one({0})",
        mlx="expm1",
    ),
    _unary("floor", float_msl="shlo::floor({0})", mlx="floor"),
    _unary("imag"),
    _unary("is_finite", mlx="isfinite"),
    _unary(
        "log",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::log({0})",
        complex_msl="shlo::logarithm({0})",
        mlx="log",
    ),
    _unary(
        "log_plus_one",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::log1p({0})",
        complex_msl="shlo::log_plus_one({0})",
        mlx="log1p",
    ),
    _unary(
        "logistic",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::logistic({0})",
        complex_msl="shlo::logistic({0})",
        mlx="sigmoid",
    ),
    _binary(
        "maximum",
        float_msl="shlo::maximum({0}, {1})",
        integer_msl="{0} > {1} ? {0} : {1}",
        bool_msl="{0} || {1}",
        complex_msl="shlo::maximum({0}, {1})",
        mlx="maximum",
        mlx_reduction="max",
    ),
    _binary(
        "minimum",
        float_msl="shlo::minimum({0}, {1})",
        integer_msl="{0} < {1} ? {0} : {1}",
        bool_msl="{0} && {1}",
        complex_msl="shlo::minimum({0}, {1})",
        mlx="minimum",
        mlx_reduction="min",
    ),
    _binary(
        "multiply",
        float_msl="{0} * {1}",
        integer_msl="{U}({0}) * {U}({1})",
        bool_msl="{0} && {1}",
        complex_msl="shlo::times({0}, {1})",
        mlx="multiply",
        mlx_reduction="prod",
        numpy="multiply",
    ),
    _unary(
        "negate",
        float_msl="-{0}",
        integer_msl="{U}(0) - {U}({0})",
        complex_msl="-{0}",
        mlx="negative",
        numpy="negative",
    ),
    _unary("not", integer_msl="~{0}", bool_msl="!{0}"),
    _binary("or", integer_msl="{0} | {1}", bool_msl="{0} || {1}"),
    _unary("popcnt", integer_msl="popcount({M}({0}))"),
    _binary(
        "power",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::pow({0}, {1})",
        integer_msl="shlo::integer_power<{U}>({0}, {1})",
        complex_msl="shlo::power({0}, {1})",
        mlx="power",
    ),
    _unary("real"),
    _unary("reduce_precision"),
    _binary(
        "remainder",
        cost=_COSTLY,
        float_msl="shlo::fmod({0}, {1})",
        integer_msl="shlo::remainder({0}, {1})",
    ),
    _unary("round_nearest_afz", float_msl="shlo::round({0})"),
    _unary("round_nearest_even", float_msl="shlo::rint({0})", mlx="round"),
    _unary(
        "rsqrt",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::rsqrt({0})",
        complex_msl="shlo::reciprocal_root({0})",
        mlx="rsqrt",
    ),
    _ternary("select", mlx="where"),
    _binary("shift_left", integer_msl="{U}({1}) < {U}({W}) ? {U}({0}) << {U}({1}) : {U}(0)"),
    _binary(
        "shift_right_arithmetic",
        integer_msl="{A} >> ({M}({1}) < {M}({W}) ? {G}({1}) : {G}({W} - 1))",
    ),
    _binary(
        "shift_right_logical",
        integer_msl="{M}({1}) < {M}({W}) ? {M}({0}) >> {M}({1}) : {M}(0)",
    ),
    _unary(
        "sign",
        float_msl="shlo::sign({0})",
        integer_msl="{0} > {T}(0) ? 1 : {0} == {T}(0) ? 0 : -1",
        complex_msl="shlo::sign({0})",
        mlx="sign",
    ),
    _unary(
        "sine",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::sin({0})",
        complex_msl="shlo::sine({0})",
        mlx="sin",
    ),
    _unary(
        "sqrt",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::sqrt({0})",
        complex_msl="shlo::square_root({0})",
        mlx="sqrt",
        numpy="sqrt",
    ),
    _binary(
        "subtract",
        float_msl="{0} - {1}",
        integer_msl="{U}({0}) - {U}({1})",
        complex_msl="{0} - {1}",
        mlx="subtract",
        numpy="subtract",
    ),
    _unary(
        "tan",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::tan({0})",
        complex_msl="shlo::tangent({0})",
        mlx="tan",
    ),
    _unary(
        "tanh",
        cost=_COSTLY,
        is_transcendental=True,
        float_msl="shlo::tanh({0})",
        complex_msl="shlo::tanh({0})",
        mlx="tanh",
    ),
    _binary("xor", integer_msl="{0} ^ {1}", bool_msl="{0} != {1}"),
    OperationInfo("batch_norm_inference", OperationKind.COMPOUND, Arity(5, 5)),
    OperationInfo("map", OperationKind.COMPOUND, SOME, regions=ONE, cost=_COSTLY),
    _movement("bitcast_convert", operands=ONE),
    _movement("broadcast", operands=ONE, preserves_splat=True),
    _movement("broadcast_in_dim", operands=ONE, has_mlx_form=True, preserves_splat=True),
    _movement("concatenate", operands=SOME, has_mlx_form=True),
    _movement("constant", operands=NONE, has_mlx_form=True),
    _movement("dynamic_slice", operands=SOME),
    _movement("dynamic_update_slice", operands=Arity(2, None)),
    _movement("gather", operands=TWO),
    _movement("get_dimension_size", operands=ONE),
    _movement("iota", operands=NONE, has_mlx_form=True),
    _movement("optimization_barrier", operands=ANY, results=ANY, has_mlx_form=True),
    _movement("pad", operands=TWO),
    _movement("real_dynamic_slice", operands=Arity(4, 4)),
    _movement("reshape", operands=ONE, has_mlx_form=True, preserves_splat=True),
    _movement("reverse", operands=ONE),
    _movement("slice", operands=ONE, has_mlx_form=True),
    _movement("transpose", operands=ONE, has_mlx_form=True, preserves_splat=True),
    _loop("convolution", operands=TWO),
    _loop("dot_general", operands=TWO, has_mlx_form=True),
    _loop("reduce", operands=Arity(2, None), results=SOME, regions=ONE, has_mlx_form=True),
    _loop("reduce_window", operands=Arity(2, None), results=SOME, regions=ONE),
    _loop("select_and_scatter", operands=THREE, regions=TWO),
    _staged("cholesky", operands=ONE),
    # A pass lowers it to steps, which have a table of roots of unity as their second operand.
    _staged("fft", operands=Arity(1, 2), reads_operand_once=True),
    _staged(
        "householder_product",
        operands=TWO,
        custom_call="ProductOfElementaryHouseholderReflectors",
    ),
    _staged("rng_bit_generator", operands=ONE, results=TWO),
    _staged("scatter", operands=Arity(3, None), results=SOME, regions=ONE),
    _staged("sort", operands=SOME, results=SOME, regions=ONE),
    _staged("triangular_solve", operands=TWO),
    # A pass adds a third result: workspace for the kernel.
    _factorization("eigh", results=Arity(2, 3), custom_call="Eigh"),
    _factorization("lu", results=THREE, custom_call="LuDecomposition"),
    _factorization("qr", results=TWO, custom_call="Qr"),
    _control_flow("case", operands=ONE, regions=SOME),
    _control_flow("if", operands=ONE, regions=TWO),
    _control_flow("while", operands=ANY, regions=TWO),
    OperationInfo(
        "host_call",
        OperationKind.HOST_CALL,
        operands=ANY,
        results=SOME,
        custom_call="metalbench_host_call",
    ),
    # The result is empty: the end depends on the begin by it.
    OperationInfo("host_begin", OperationKind.HOST_REGION, operands=ANY),
    OperationInfo("host_end", OperationKind.HOST_REGION, operands=ONE, results=SOME),
    OperationInfo(
        "counted_loop", OperationKind.FUSED_LOOP, operands=ANY, results=SOME, regions=ONE
    ),
    OperationInfo("pack_panels", kind=OperationKind.PACKING, operands=ONE, reads_operand_once=True),
    OperationInfo("packed_product", kind=OperationKind.PACKED, operands=TWO, cost=_LOOP_COST),
    _fused("attention", results=ONE),
    _fused("row_product", results=SOME),
    _fused("rows", results=SOME),
    _collective("all_gather", operands=SOME, results=SOME),
    _collective("all_reduce", operands=SOME, results=SOME, regions=ONE),
    _collective("all_to_all", operands=SOME, results=SOME),
    _collective("collective_broadcast", operands=ONE),
    _collective("collective_permute", operands=ONE),
    _collective("partition_id", operands=NONE),
    _collective("reduce_scatter", operands=ONE, regions=ONE),
    _collective("replica_id", operands=NONE),
    _legalized("batch_norm_grad", operands=Arity(5, 5), results=THREE),
    _legalized("batch_norm_training", operands=THREE, results=THREE),
    _legalized("composite", operands=ANY, results=ANY),
    _legalized("dot", operands=TWO),
    _legalized("dynamic_broadcast_in_dim", operands=TWO),
    _legalized("dynamic_conv", operands=THREE),
    _legalized("dynamic_gather", operands=THREE),
    _legalized("dynamic_iota", operands=ONE),
    _legalized("dynamic_pad", operands=Arity(5, 5)),
    _legalized("dynamic_reshape", operands=TWO),
    _legalized("func.call", operands=ANY, results=ANY),
)
OPERATIONS = {each.name: each for each in _ALL}


def list_names(*kinds: OperationKind) -> frozenset[str]:
    """Return the names of all operations of some kinds."""
    return frozenset(each.name for each in OPERATIONS.values() if each.kind in kinds)


ELEMENTWISE = list_names(OperationKind.ELEMENTWISE)
MOVEMENTS = list_names(OperationKind.MOVEMENT)
LOOPS = list_names(OperationKind.LOOP, OperationKind.PACKED)
HOST_CALLS = list_names(OperationKind.HOST_CALL)
HOST_REGIONS = list_names(OperationKind.HOST_REGION)
CONTROL_FLOW = list_names(OperationKind.CONTROL_FLOW)
FUSED = list_names(OperationKind.FUSED)
FUSED_LOOPS = list_names(OperationKind.FUSED_LOOP)
COLLECTIVES = list_names(OperationKind.COLLECTIVE)
REDUCERS = frozenset(each.name for each in OPERATIONS.values() if each.is_reducer)


# Operations without a kernel that exchange elements with the host.
_COMMUNICATION = ("infeed", "outfeed", "recv", "send")


def has_side_effects(operation: Operation) -> bool:
    """Return whether an operation must run even if nothing uses its results."""
    if operation.name in _COMMUNICATION or operation.attributes.get("has_side_effect"):
        return True
    return any(has_side_effects(each) for region in operation.regions for each in region.operations)


def is_elementwise(operation: Operation) -> bool:
    """Return whether each result element depends only on the operand elements at its index.

    A `bitcast_convert` that keeps the shape is elementwise, too.
    """
    if operation.name == "bitcast_convert":
        return operation.operands[0].type.shape == operation.results[0].type.shape
    return operation.name in ELEMENTWISE


def estimate_cost(operation: Operation) -> int:
    """Return the time of one result element, in additions; 1 for an unknown operation."""
    known = OPERATIONS.get(operation.name)
    return 1 if known is None else known.cost


def check_arity(operation: Operation) -> None:
    """Raise Unsupported if the number of operands, results or regions is not the registered one.

    An unknown operation is not checked: `build_plan` refuses it by name.
    """
    known = OPERATIONS.get(operation.name)
    if known is None:
        return
    for what, arity, found in (
        ("operands", known.operands, operation.operands),
        ("results", known.results, operation.results),
        ("regions", known.regions, operation.regions),
    ):
        if not arity.allows(len(found)):
            raise Unsupported(
                f"{operation.where}: expected {arity} {what}, got {len(found)}; "
                "this version of StableHLO may have changed the operation"
            )


# Format the table of supported operations and element types for the documentation.

# Each row: name, method of computation, and kinds of operations.
_ROWS = (
    (
        "elementwise",
        "one thread for each element; inlined into their users",
        (OperationKind.ELEMENTWISE, OperationKind.COMPOUND),
    ),
    ("movement", "maps of indices; inlined into their users", (OperationKind.MOVEMENT,)),
    (
        "reductions, windows, products",
        "a loop in each thread, with elementwise epilogues",
        (OperationKind.LOOP,),
    ),
    ("whole tensors", "one or more stages, each a kernel", (OperationKind.STAGED,)),
    (
        "matrices",
        "one threadgroup for each matrix; custom calls of XLA",
        (OperationKind.FACTORIZATION,),
    ),
    (
        "control flow",
        "the host reads the predicate and runs the regions",
        (OperationKind.CONTROL_FLOW,),
    ),
    (
        "callbacks",
        "the host calls a Python function of JAX, in the process that traced it",
        (OperationKind.HOST_CALL,),
    ),
    (
        "collectives",
        "of one device: the operand itself, or the number 0",
        (OperationKind.COLLECTIVE,),
    ),
    (
        "legalised",
        "replaced by other operations; shapes must be static",
        (OperationKind.LEGALIZED,),
    ),
)


def format_support_table() -> str:
    """Return the supported operations and element types as Markdown."""
    lines = ["| operations | how | |", "|---|---|---|"]
    for name, how, kinds in _ROWS:
        lines.append(f"| {name} | {how} | {_format_names(sorted(list_names(*kinds)))} |")
    plain = {
        name: each
        for name, each in ELEMENT_TYPES.items()
        if not each.is_narrow and not each.is_small_float
    }
    small = [name for name, each in ELEMENT_TYPES.items() if each.is_small_float]
    kept = [name for name, each in plain.items() if not each.has_double]
    double = [name for name, each in plain.items() if each.has_double]
    narrow = [name for name, each in ELEMENT_TYPES.items() if each.is_narrow]
    lines += [
        "",
        "| element types | |",
        "|---|---|",
        f"| as they are | {_format_names(kept)} |",
        f"| one byte for each element, truncated after each operation | {_format_names(narrow)} |",
        f"| on `cpu` and `cuda`; refused by name on `metal` | {_format_names(double)} |",
        f"| one byte for each element, computed in float and rounded | {_format_names(small)} |",
        "| refused by name | quantised, floats of six bits |",
    ]
    return "\n".join(lines)


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)
