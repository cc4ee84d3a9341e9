"""Test products of matrices in memory and in registers: types, transposes, tiles and layouts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_ways import WAYS
from hypothesis import given, settings
from hypothesis import strategies as st
from msl.tensor_products import Product, find_error

from metalbench import _core
from metalbench.msl import engine

TYPES = [
    ("char", "char", "int"),
    ("uchar", "char", "int"),
    ("uchar", "uchar", "float"),
    ("half", "half", "half"),
    ("half", "half", "float"),
    ("bfloat", "bfloat", "bfloat"),
    ("bfloat", "half", "float"),
    ("float", "bfloat", "float"),
    ("float", "float", "float"),
]
LAYOUTS = range(4)
BOTH = st.booleans()


def with_layout(layout: int) -> dict[str, str]:
    return {"__METALBENCH_TENSOR_LAYOUT__": str(layout)} if layout else {}


@pytest.fixture(params=[*WAYS, "checked"])
def way(request, monkeypatch) -> bool:
    """Return whether builds are checked."""
    if request.param != "checked":
        monkeypatch.setenv(engine.ENGINE_VARIABLE, request.param)
    return request.param == "checked"


@pytest.mark.parametrize(("left", "right", "total"), TYPES)
def test_matmul2d_of_element_types(cpu, way, left, right, total):
    product = Product(left, right, total, rows=32, columns=16, tile_groups=2)
    assert find_error(cpu, product, (40, 21, 37), checked=way) == 0


@pytest.mark.parametrize("turn_left", [False, True])
@pytest.mark.parametrize("turn_right", [False, True])
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("size", [(64, 64, 16), (63, 65, 17), (1, 1, 1)])
def test_matmul2d_of_transposes(cpu, way, turn_left, turn_right, direct, size):
    product = Product(
        rows=32, columns=32, turn_left=turn_left, turn_right=turn_right, direct=direct, add=direct
    )
    assert find_error(cpu, product, size, padding=3, checked=way) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (24, 40), (64, 32), (16, 32)])
@pytest.mark.parametrize("groups", [1, 4])
def test_matmul2d_with_each_layout(cpu, way, layout, rows, columns, groups):
    product = Product(rows=rows, columns=columns, tile_groups=groups)
    macros = with_layout(layout)
    assert find_error(cpu, product, (70, 50, 20), macros=macros, checked=way) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("turn_left", "turn_right"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("shape", [(16, 32, 16), (8, 24, 40), (64, 32, 32)])
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("relaxed", [False, True])
def test_matmul2d_with_operands_in_registers(
    cpu, way, layout, turn_left, turn_right, shape, direct, relaxed
):
    rows, columns, depth = shape
    product = Product(
        rows=rows,
        columns=columns,
        depth=depth,
        turn_left=bool(turn_left),
        turn_right=bool(turn_right),
        add=True,
        in_registers=True,
        direct=direct,
        relaxed=relaxed,
    )
    assert find_error(cpu, product, shape, macros=with_layout(layout), checked=way) == 0


def test_find_error_finds_a_wrong_sum(cpu):
    product = Product(rows=16, columns=16)
    assert find_error(cpu, product, (16, 16, 16)) == 0
    wrong = {"COLUMNS": "8"}  # half of the columns are not computed
    assert find_error(cpu, product, (16, 16, 16), macros=wrong) > 0


PRODUCTS = st.builds(
    Product,
    rows=st.sampled_from([8, 16, 24, 32, 64]),
    columns=st.sampled_from([8, 16, 24, 32, 64]),
    turn_left=BOTH,
    turn_right=BOTH,
    relaxed=BOTH,
    add=BOTH,
    direct=BOTH,
    tile_groups=st.sampled_from([1, 2, 4]),
)


@st.composite
def cases(draw):
    """Draw a product, its size, padding and layout."""
    product = draw(PRODUCTS)
    left, right, total = draw(st.sampled_from(TYPES))
    product = replace(product, left=left, right=right, sum=total)
    size = draw(st.tuples(*[st.integers(1, 70)] * 3))
    if draw(BOTH):
        depth = draw(st.sampled_from([8, 16, 32]))
        product = replace(product, in_registers=True, add=True, tile_groups=1, depth=depth)
        size = (product.rows, product.columns, depth)
    return product, size, draw(st.integers(0, 5)), draw(st.sampled_from(LAYOUTS))


def check_case(device: _core.Device, case, *, checked: bool = False) -> None:
    product, size, padding, layout = case
    macros = with_layout(layout)
    assert find_error(device, product, size, padding=padding, macros=macros, checked=checked) == 0


@settings(max_examples=4, deadline=None, database=None)
@given(case=cases())
def test_matmul2d_of_random_products(cpu, case):
    check_case(cpu, case)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, database=None)
@given(case=cases())
def test_matmul2d_of_many_random_products(cpu, case):
    check_case(cpu, case)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, database=None)
@given(case=cases())
def test_matmul2d_of_many_random_products_in_checked_builds(cpu, case):
    check_case(cpu, case, checked=True)
