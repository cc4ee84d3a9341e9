"""The registry of operations: each pass, emitter and MLX form agrees with it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from metalbench import hlo
from metalbench.errors import Unsupported
from metalbench.hlo.bench import rivals
from metalbench.hlo.codegen import EMITTERS, STAGED, elementwise, factorizations
from metalbench.hlo.importer.module import DECOMPOSITIONS
from metalbench.hlo.ir import ELEMENT_TYPES, Block, Operation, TensorType, TensorValue
from metalbench.hlo.operations import (
    CONTROL_FLOW,
    ELEMENTWISE,
    FUSED,
    FUSED_LOOPS,
    OPERATIONS,
    REDUCERS,
    Arity,
    OperationInfo,
    OperationKind,
    check_arity,
    is_elementwise,
    list_names,
)
from metalbench.hlo.passes import canonicalization, fusion, verification
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime import costs
from metalbench.hlo.runtime.plan import _KERNELS, build_plan

PACKAGE = Path(hlo.__file__).parent
F32, U32 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["ui32"]


def operation(name, operands, result, *, regions=0):
    made = Operation(name, operands, [], {}, [None] * regions, "here")
    made.results = [TensorValue(result, made)]
    return made


def test_each_emitter_is_in_the_registry_with_its_kind():
    mapped = list_names(
        OperationKind.ELEMENTWISE,
        OperationKind.COMPOUND,
        OperationKind.MOVEMENT,
        OperationKind.LOOP,
        OperationKind.PACKED,
    )
    assert set(EMITTERS) == mapped
    assert set(STAGED) == list_names(OperationKind.STAGED)
    assert set(factorizations.FACTORIZATIONS) == list_names(OperationKind.FACTORIZATION)


def test_planner_writes_a_kernel_for_each_fused_operation():
    assert set(_KERNELS) == FUSED | FUSED_LOOPS | list_names(OperationKind.FACTORIZATION)


def test_each_elementwise_operation_has_one_source_of_its_expression():
    assert set(elementwise.EXPRESSIONS) == ELEMENTWISE
    with_types = set(elementwise._WITH_TYPES)
    with_text = {name for name, each in OPERATIONS.items() if any(map(each.get_msl, "bifc"))}
    assert with_types | with_text == ELEMENTWISE
    assert with_types.isdisjoint(with_text)


def test_expressions_use_as_many_operands_as_the_arity_says():
    for each in OPERATIONS.values():
        for text in filter(None, map(each.get_msl, "bifc")):
            used = {int(number) for number in re.findall(r"\{(\d)\}", text)}
            used |= {0} if "{A}" in text else set()
            assert each.operands == Arity(len(used), len(used)), each.name
            assert used == set(range(len(used))), each.name


def test_work_is_counted_for_each_operation_with_more_or_less_than_one_for_an_element():
    counted = set(costs._COUNTS) - {"map"}
    assert counted == set(OPERATIONS) - list_names(
        OperationKind.ELEMENTWISE,
        OperationKind.COMPOUND,
        OperationKind.COLLECTIVE,
        OperationKind.LEGALIZED,
    ) - {"rng_bit_generator"}


def test_verification_rules_are_for_operations_of_the_registry():
    rules = set(verification._RULES)
    assert rules <= set(OPERATIONS)
    assert rules.isdisjoint(ELEMENTWISE)
    assert rules >= CONTROL_FLOW | FUSED | FUSED_LOOPS


def test_mlx_forms_agree_with_the_registry():
    direct = {name for name, each in OPERATIONS.items() if each.mlx}
    with_attributes = {name for name, each in OPERATIONS.items() if each.has_mlx_form}
    assert direct.isdisjoint(with_attributes)
    assert set(rivals._WITH_ATTRIBUTES) == with_attributes
    assert set(rivals.FORMS) == direct | with_attributes
    for each in OPERATIONS.values():
        for name in filter(None, (each.mlx, each.mlx_reduction)):
            assert callable(getattr(mx, name)), each.name


def test_numpy_functions_take_the_operands():
    for name in canonicalization._FLOAT:
        operands = OPERATIONS[name].operands.least
        assert canonicalization._FLOAT[name](*[np.float32(2)] * operands).dtype == np.float32


def test_joins_have_two_operands_and_an_mlx_function():
    assert {"add", "maximum", "minimum", "multiply"} == REDUCERS
    assert all(
        OPERATIONS[name].operands == Arity(2, 2) and OPERATIONS[name].mlx for name in REDUCERS
    )


def test_decompositions_and_custom_calls_agree_with_the_registry():
    assert set(DECOMPOSITIONS) <= list_names(OperationKind.LEGALIZED)
    assert set(canonicalization._NAMES.values()) == {
        name for name, each in OPERATIONS.items() if each.custom_call
    }


def test_costs_and_reads_agree_with_the_kinds_of_operations():
    for each in OPERATIONS.values():
        assert not each.preserves_splat or each.kind is OperationKind.MOVEMENT, each.name
        assert (each.cost == 0) == (each.kind is OperationKind.MOVEMENT), each.name
        stages = (OperationKind.STAGED, OperationKind.PACKING)
        assert not each.reads_operand_once or each.kind in stages, each.name


@pytest.mark.whole
@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_each_elementwise_operation_can_be_fused(name):
    """Check that a costly value that the operation and its user read gets no buffer."""
    type_ = TensorType((8,), F32)
    x = TensorValue(type_)
    given = operation("exponential", [x], type_)
    first = operation(name, [given.results[0]] * OPERATIONS[name].operands.least, type_)
    last = operation("add", [first.results[0], given.results[0]], type_)
    block = Block([x], [given, first, last], list(last.results))
    assert is_elementwise(first)
    inlined = fusion.choose_inlined_values(block, 2, {*STAGED, *CONTROL_FLOW})
    assert inlined == {*given.results, *first.results}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [((8,), (8,), True), ((8,), (8, 4), False), ((8, 4), (8,), False)],
)
def test_a_bitcast_is_elementwise_if_it_keeps_the_shape(source, target, expected):
    made = operation(
        "bitcast_convert", [TensorValue(TensorType(source, U32))], TensorType(target, F32)
    )
    assert is_elementwise(made) is expected


def test_modules_derive_lists_of_operation_names_from_the_registry():
    """Refuse a list of four or more names that no test above compares with the registry."""
    # The keys of these are functions; the tests above compare them.
    compared = {
        "bench/rivals.py": {"_WITH_ATTRIBUTES"},
        "codegen/data_movement.py": {"DYNAMIC_MOVEMENT_EMITTERS", "STATIC_MOVEMENT_EMITTERS"},
        "codegen/elementwise.py": {"_WITH_TYPES"},
        "codegen/whole_tensors.py": {"STAGED"},
        "passes/verification.py": {"_RULES"},
        "runtime/costs.py": {"_COUNTS"},
    }
    names = {each.rpartition(".")[2] for each in OPERATIONS}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place == "operations.py" or place.startswith("bench/families/"):
            continue
        for target, found in _collections(path.read_text(), names):
            assert target in compared.get(place, ()), (
                f"{place}: {target} is a list of operations: {sorted(found)}; "
                "derive it from metalbench.hlo.operations"
            )


def _collections(text, names):
    """Yield the target of each assignment whose value has four or more operation names in one."""
    for statement in ast.walk(ast.parse(text)):
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        for each in ast.walk(statement.value):
            if isinstance(each, ast.Dict):
                parts = each.keys
            elif isinstance(each, (ast.Tuple, ast.List, ast.Set)):
                parts = each.elts
            else:
                continue
            strings = {part.value for part in parts if isinstance(part, ast.Constant)}
            found = {each for each in strings if isinstance(each, str)} & names
            if len(found) >= 4:
                yield ast.unparse(target), found


def test_another_number_of_operands_is_refused_with_the_expected_one():
    x = TensorValue(TensorType((8,), F32))
    with pytest.raises(
        Unsupported, match=r"\[stablehlo\.add\] here: expected 2 operands, got 3; this version"
    ):
        check_arity(operation("add", [x] * 3, x.type))
    with pytest.raises(Unsupported, match="expected at least 1 operands, got 0"):
        check_arity(operation("concatenate", [], x.type))
    with pytest.raises(Unsupported, match="expected 1 regions, got 0"):
        check_arity(operation("sort", [x], x.type))
    with pytest.raises(Unsupported, match="expected 1 to 2 operands, got 3"):
        check_arity(operation("fft", [x] * 3, x.type))
    check_arity(operation("unknown", [x] * 9, x.type))


def test_arity_is_checked_on_reading(monkeypatch):
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = stablehlo.negate %x : tensor<3xf32>
      return %y : tensor<3xf32> }"""
    monkeypatch.setitem(
        OPERATIONS, "negate", OperationInfo("negate", OperationKind.ELEMENTWISE, Arity(2, 2))
    )
    with pytest.raises(Unsupported, match=r"\[stablehlo\.negate\] -:2:12: expected 2 operands"):
        import_program(text)


def lower_function(function, *arguments):
    """Return the StableHLO of a function as for the plugin: with all rounds of Threefry in it."""
    jax = pytest.importorskip("jax")
    traced = jax.jit(function).trace(*arguments)
    return traced.lower(lowering_platforms=("tpu",)).as_text()


def draw_function(name):
    """Return a function from the data of a key to bits, numbers or the data of other keys."""
    random = pytest.importorskip("jax").random
    functions = {
        "bits": lambda key: random.bits(key, (1024,)),
        "fold_in": lambda key: random.key_data(random.fold_in(key, 7)),
        "normal": lambda key: random.normal(key, (1024,)),
        "split": lambda key: random.key_data(random.split(key, 3)),
        "uniform": lambda key: random.uniform(key, (1024,)),
    }
    return lambda data: functions[name](random.wrap_key_data(data))


@pytest.mark.whole
@pytest.mark.parametrize("device", ["metal", "cuda"])
@pytest.mark.parametrize("draw", ["bits", "fold_in", "normal", "split", "uniform"])
def test_threefry_is_at_most_7_kernels_on_a_gpu(draw, device):
    made = import_program(lower_function(draw_function(draw), np.array([1, 2], np.uint32)))
    # The rounds are unrolled, without a loop.
    assert len([each for each in made.operations if each.name == "xor"]) > 20
    assert len(list(build_plan(made, 2, device=device).iterate_kernels())) <= 7


@pytest.mark.whole
@pytest.mark.parametrize("draw", ["bits", "fold_in", "split", "uniform"])
def test_fused_threefry_agrees_with_xla(draw):
    jax = pytest.importorskip("jax")
    data, function = np.array([123, 456], np.uint32), draw_function(draw)
    program = hlo.compile(lower_function(function, data), device="cpu")
    with jax.default_device(jax.devices("cpu")[0]):
        expected = np.asarray(jax.jit(function)(data))
    np.testing.assert_array_equal(program(data)[0], expected)
