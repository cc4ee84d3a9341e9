"""Chapters 6.4, 6.6 and 6.8: relational, matrix and geometric functions."""

from __future__ import annotations

import numpy as np
import pytest
from msl.conformance import FORMATS, TYPES, Call, edges, run, samples

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _normal(x: np.ndarray, kind: str) -> np.ndarray:
    return np.isfinite(x) & (np.abs(x) >= 2.0 ** FORMATS[kind][1])


CLASSES = {
    "isfinite": "isfinite(a)",
    "isinf": "isinf(a)",
    "isnan": "isnan(a)",
    "isnormal": "isnormal(a)",
    "signbit": "signbit(a)",
    "isordered": "isordered(a, b)",
    "isunordered": "isunordered(a, b)",
    "not": "not isnan(a)",
}
COVERS = {
    "6.4 Relational functions": {*CLASSES, "all", "any", "select"},
    "6.6 Matrix functions": {"determinant", "transpose"},
    "6.8 Geometric functions": {
        *("cross", "distance", "distance_squared", "dot", "faceforward"),
        *("length", "length_squared", "normalize", "reflect", "refract"),
    },
    "2.3 Matrix types": {
        *("matrix constructors", "matrix subscript", "matrix operators"),
        *("matrix-vector product", "vector-matrix product", "matrix product"),
    },
}


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "precise"])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half", "bfloat"])
def test_classes_of_numbers(cpu, kind, width, fast):
    x, y = (v.ravel().copy() for v in np.meshgrid(edges(kind), edges(kind)))
    calls = [Call(name, expression, np.abs) for name, expression in CLASSES.items()]
    got = run(cpu, calls, [x, y], kind=kind, width=width, result="bool", fast_math=fast)
    a, b = x.astype(np.float64), y.astype(np.float64)
    unordered = np.isnan(a) | np.isnan(b)
    want = [np.isfinite(a), np.isinf(a), np.isnan(a), _normal(a, kind), np.signbit(a)]
    want += [~unordered, unordered, ~np.isnan(a)]
    for call, values, expected in zip(calls, got, want, strict=True):
        sure = np.ones(len(a), bool)
        if call.name == "signbit":
            # NaN has none that is kept; a processor's own bfloat instructions flush subnormals.
            sure = ~np.isnan(a) & ((kind != "bfloat") | _normal(a, kind))
        wide = np.tile(expected, (width, 1))
        np.testing.assert_array_equal(values[:, sure], wide[:, sure], err_msg=call.name)


@pytest.mark.parametrize("kind", ["float", "half", "bfloat", "int", "uchar", "short", "ulong"])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_select(cpu, kind, width):
    x, y = np.random.default_rng(3).integers(0, 100, (2, 512)).astype(TYPES[kind])
    got = run(cpu, [Call("select", "select(a, b, a < b)", np.abs)], [x, y], kind=kind, width=width)
    np.testing.assert_array_equal(got[0], np.tile(np.where(x < y, y, x), (width, 1)))


def test_all_and_any(compiles):
    compiles("""
        static_assert(all(bool2(true)) && !all(bool3(true, false, true)) && all(true));
        static_assert(any(bool4(false, false, false, true)) && !any(bool2(false)) && !any(false));
        static_assert(all(not(bool2(false))) && all(bool4(true)) && any(bool3(true)));
    """)


def _components(kind: str, width: int, count: int = 2048) -> list[np.ndarray]:
    return list(np.random.default_rng(5).uniform(-2, 2, (3, count)).astype(TYPES[kind]))


def _vectors(x: np.ndarray, width: int) -> np.ndarray:
    """Return the vectors of `run`'s inputs: [input, component]."""
    return np.stack([np.roll(x.astype(np.float64), -17 * j) for j in range(width)], axis=-1)


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "precise"])
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_geometry(cpu, kind, width, fast):
    inputs = _components(kind, width)
    a, b, c = (_vectors(x, width) for x in inputs)
    unit = 2.0 ** (1 - FORMATS[kind][0])

    def dot(x, y):
        return (x * y).sum(-1, keepdims=True)

    ray, normal = a / np.sqrt(dot(a, a)), b / np.sqrt(dot(b, b))
    k = 1 - 0.5625 * (1 - dot(normal, ray) ** 2)
    want = {
        "V(dot(a, b))": dot(a, b),
        "V(length(a))": np.sqrt(dot(a, a)),
        "V(length_squared(a))": dot(a, a),
        "V(distance(a, b))": np.sqrt(dot(a - b, a - b)),
        "V(distance_squared(a, b))": dot(a - b, a - b),
        "normalize(a)": ray,
        "reflect(a, normalize(b))": a - 2 * normal * dot(normal, a),
        "refract(normalize(a), normalize(b), 0.75h)": 0.75 * ray
        - normal * (0.75 * dot(normal, ray) + np.sqrt(k)),
        "faceforward(a, b, c)": np.where(dot(c, b) < 0, a, -a),
    }
    if width == 3:
        want["cross(a, b)"] = np.cross(a, b)
    calls = [Call(name, name, np.abs) for name in want]
    results = run(cpu, calls, inputs, kind=kind, width=width, fast_math=fast)
    for (name, expected), got in zip(want.items(), results, strict=True):
        back = np.stack([np.roll(got[j].astype(np.float64), -17 * j) for j in range(width)], -1)
        sure = np.abs(dot(c, b)) > 20 * unit if "face" in name else np.full((len(a), 1), True)
        error = np.abs(back - np.broadcast_to(expected, back.shape)) * sure
        assert error.max() <= 40 * unit, name


SQUARES = [(2, 2), (3, 3), (4, 4)]
SHAPES = [(columns, rows) for columns in (2, 3, 4) for rows in (2, 3, 4)]


def _matrices(kind: str, columns: int, rows: int) -> np.ndarray:
    values = np.random.default_rng(columns * 5 + rows).integers(-3, 4, (2, 64, columns, rows))
    return values.astype(TYPES[kind])


@pytest.fixture
def matrices(cpu):
    """Run the body of a kernel that sees M m[i] and n[i] and writes `count` numbers to out."""

    def go(kind: str, columns: int, rows: int, body: str, count: int):
        from metalbench import _core

        m, n = _matrices(kind, columns, rows)
        source = f"""#include <metal_stdlib>
            using namespace metal;
            using T = {kind};
            using M = {kind}{columns}x{rows};
            M load(device const T* p) {{
              M m;
              for (int c = 0; c < {columns}; ++c)
                for (int r = 0; r < {rows}; ++r) m[c][r] = p[c * {rows} + r];
              return m;
            }}
            kernel void f(device const T* x, device const T* y, device T* out,
                          uint i [[thread_position_in_grid]]) {{
              const M m = load(x + i * {columns * rows}), n = load(y + i * {columns * rows});
              out += i * {count};
              {body}
            }}"""
        out = np.zeros((64, count), TYPES[kind])
        arguments = {"x": m, "y": n, "out": out}
        pipeline = cpu.compile(source).pipeline()
        cpu.run([_core.Dispatch(pipeline, arguments, threads_in_grid=64, threads=64)])
        return m.astype(np.float64), n.astype(np.float64), out.astype(np.float64)

    return go


@pytest.mark.parametrize(("columns", "rows"), SHAPES)
@pytest.mark.parametrize("kind", ["float", "half"])
def test_matrices(matrices, kind, columns, rows):
    size = columns * rows
    body = f"""
        M sum = m + n * T(2) - (-m) / T(1);
        sum *= T(2);
        for (int k = 0; k < {size}; ++k) out[k] = sum[k / {rows}][k % {rows}];
        auto turned = transpose(m);
        for (int k = 0; k < {size}; ++k) out[{size} + k] = turned[k / {columns}][k % {columns}];
        auto square = transpose(m) * n;
        for (int k = 0; k < {columns * columns}; ++k)
          out[{2 * size} + k] = square[k / {columns}][k % {columns}];
        auto column = m * vec<T, {columns}>(n[0][0], n[0][1]{", 1" * (columns - 2)});
        auto row = n[1] * m;
        for (int k = 0; k < {rows}; ++k) out[{2 * size + columns**2} + k] = column[k];
        for (int k = 0; k < {columns}; ++k) out[{2 * size + columns**2 + rows} + k] = row[k];
    """
    count = 2 * size + columns**2 + rows + columns
    m, n, out = matrices(kind, columns, rows, body, count)
    vector = np.concatenate([n[:, 0, :2], np.ones((64, columns - 2))], axis=1)
    # [i, column, row] is the transpose of the usual order.
    want = [
        2 * (m + 2 * n + m),
        m.transpose(0, 2, 1),
        np.einsum("icr,idr->idc", m, n),
        np.einsum("icr,ic->ir", m, vector),
        np.einsum("ir,icr->ic", n[:, 1], m),
    ]
    np.testing.assert_array_equal(out, np.concatenate([w.reshape(64, -1) for w in want], axis=1))


@pytest.mark.parametrize(("columns", "rows"), SQUARES)
@pytest.mark.parametrize("kind", ["float", "half"])
def test_determinant(matrices, kind, columns, rows):
    m, _, out = matrices(kind, columns, rows, "out[0] = determinant(m);", 1)
    np.testing.assert_allclose(out[:, 0], np.linalg.det(m), atol=1e-9)


def test_matrix_constructors(compiles):
    compiles("""
        constexpr bool same(float2x2 a, float2x2 b) { return a == b; }
        static_assert(same(float2x2(1, 2, 3, 4), float2x2(float2(1, 2), float2(3, 4))));
        static_assert(same({{1, 2}, {3, 4}}, float2x2(half2x2(1, 2, 3, 4))));
        static_assert(same(float2x2(2), float2x2(2, 0, 0, 2)));
        constant constexpr float3x2 a = {{1, 2}, {3, 4}, {5, 6}};
        constant constexpr float4x3 b(float3(1), float3(2), float3(3), float3(4));
        static_assert(a[2].y == 6 && a[1][0] == 3 && b[3].z == 4 && b.columns[2].x == 3);
        static_assert(a != float3x2(1.0f) && float3x3(1)[2][2] == 1 && float3x3(1)[2][0] == 0);
    """)


def test_samples_reach_every_class():
    x = samples("float", 8192).astype(np.float64)
    assert np.isnan(x).any()
    assert np.isinf(x).any()
    assert (~_normal(x, "float") & (x != 0)).sum() > 9
