"""Chapters 6.9.1 to 6.9.3: SIMD-group and quad-group functions in every type, diverged too."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from msl.conformance import STEP, TYPES, Call, run

GROUPS = {"simd": 32, "quad": 4}
REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add,
    "product": operator.mul,
    "min": min,
    "max": max,
}
BITWISE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
SCANS = {
    f"prefix_{kind}_{name}": (kind == "inclusive", name)
    for kind in ("inclusive", "exclusive")
    for name in ("sum", "product")
}
# Which lane a lane reads from, and whether it is one of `filling`'s.
SHUFFLES: dict[str, Callable[[int, int], tuple[int, bool]]] = {
    "broadcast(a, 2)": lambda lane, n: (2, False),
    "broadcast_first(a)": lambda lane, n: (0, False),
    "shuffle(a, (i * 7 + 1) % N)": lambda lane, n: ((lane * 7 + 1) % n, False),
    "shuffle_xor(a, 3)": lambda lane, n: (lane ^ 3, False),
    "shuffle_up(a, 2)": lambda lane, n: (lane - 2 if lane >= 2 else lane, False),
    "shuffle_down(a, 2)": lambda lane, n: (lane + 2 if lane + 2 < n else lane, False),
    "shuffle_rotate_up(a, 3)": lambda lane, n: ((lane - 3) % n, False),
    "shuffle_rotate_down(a, 3)": lambda lane, n: ((lane + 3) % n, False),
    "shuffle_and_fill_up(a, b, 2)": lambda lane, n: ((lane - 2) % n, lane < 2),
    "shuffle_and_fill_down(a, b, 2)": lambda lane, n: ((lane + 2) % n, lane + 2 >= n),
    "shuffle_and_fill_up(a, b, 1, 2)": lambda lane, n: (lane ^ 1, lane % 2 == 0),
    "shuffle_and_fill_down(a, b, 1, 4)": lambda lane, n: (
        lane // 4 * 4 + (lane + 1) % 4,
        lane % 4 == 3,
    ),
}
VOTES = {
    "any": "{}_any(a > 1)",
    "all": "{}_all(a > -5)",
    "is_first": "{}_is_first()",
    "ballot": "uint(({0}_vote::vote_t){0}_ballot(a > 0))",
    "active_threads_mask": "uint(({0}_vote::vote_t){0}_active_threads_mask())",
    "vote::all": "{}_ballot(a > -5).all()",
    "vote::any": "{}_ballot(a > 1).any()",
}


def _names(group: str) -> set[str]:
    calls = {name.split("(")[0] for name in SHUFFLES}
    calls |= {"shuffle_and_fill_up modulo", "shuffle_and_fill_down modulo", "vote::vote_t"}
    return {f"{group}_{name}" for name in calls | {*REDUCTIONS, *BITWISE, *SCANS, *VOTES}}


COVERS = {
    "6.9.1 Synchronization functions": {"threadgroup_barrier", "simdgroup_barrier"},
    "6.9.2 SIMD-group functions": _names("simd"),
    "6.9.3 Quad-group functions": _names("quad"),
    "Undocumented, but in use": {"quadgroup_barrier"},
}

WIDTHS = {"float": (1, 4), "half": (1, 3), "int": (1, 2), "ushort": (1, 3)}
CASES = [
    (kind, width)
    for kind in ("float", "half", "bfloat", "char", "uchar", "short", "ushort", "int", "uint")
    for width in WIDTHS.get(kind, (1,))
]
COUNT = 128


def _inputs(kind: str) -> list[np.ndarray]:
    generator = np.random.default_rng(8)
    signs = [1, 1, 1, 2, 3] if kind[0] == "u" else [1, -1, -1, 1, 2]
    return list(generator.choice(signs, (2, COUNT)).astype(TYPES[kind]))


def _for_groups(size: int, width: int, values: np.ndarray, combine: Callable) -> np.ndarray:
    """combine(values of the group's lanes, first lane), component by component as `run` has it."""
    results = []
    for component in range(width):
        rolled = np.roll(values, -component * STEP, axis=-1)
        parts = [combine(rolled[..., at : at + size], at) for at in range(0, COUNT, size)]
        results.append(np.roll(np.concatenate(parts), component * STEP))
    return np.array(results)


def _expect(got: np.ndarray, want: np.ndarray, name: str) -> None:
    # Integers wrap.
    if np.issubdtype(got.dtype, np.integer):
        want = want.astype(np.int64).astype(got.dtype)
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64), err_msg=name)


ACTIVE = "([&]{{ V r = V(0); if (i % 3 != 1) r = {}; return r; }}())"


@pytest.mark.parametrize("diverged", [False, True], ids=["whole", "diverged"])
@pytest.mark.parametrize(("kind", "width"), CASES)
def test_reductions_and_scans(cpu, kind, width, diverged):
    operations = REDUCTIONS if kind in ("float", "half", "bfloat") else REDUCTIONS | BITWISE
    names = [f"{group}_{name}" for group in GROUPS for name in (*operations, *SCANS)]
    form = ACTIVE if diverged else "{}"
    calls = [Call(name, form.format(f"{name}(a)"), np.abs) for name in names]
    x = _inputs(kind)[0]
    results = run(cpu, calls, [x], kind=kind, width=width)
    for name, got in zip(names, results, strict=True):
        group, operation = name.split("_", 1)

        def combine(values, first, operation=operation):
            active = [n for n in range(len(values)) if not diverged or (first + n) % 3 != 1]
            numbers = [values[n].item() for n in active]
            result = np.zeros(len(values))
            if operation in SCANS:
                inclusive, base = SCANS[operation]
                one = 0 if base == "sum" else 1
                sums = list(accumulate(numbers, REDUCTIONS[base], initial=one))
                result[active] = sums[1:] if inclusive else sums[:-1]
            else:
                result[active] = reduce((REDUCTIONS | BITWISE)[operation], numbers)
            return result

        _expect(got, _for_groups(GROUPS[group], width, x, combine), name)


@pytest.mark.parametrize(("kind", "width"), CASES)
def test_shuffles(cpu, kind, width):
    names = [(group, call) for group in GROUPS for call in SHUFFLES]
    calls = [
        Call(call, f"{group}_{call.replace('N', str(GROUPS[group]))}", np.abs)
        for group, call in names
    ]
    both = np.array(_inputs(kind))
    results = run(cpu, calls, list(both), kind=kind, width=width)
    for (group, call), got in zip(names, results, strict=True):

        def combine(values, first, call=call):
            sources = [SHUFFLES[call](lane, values.shape[1]) for lane in range(values.shape[1])]
            return np.array([values[int(fill), lane] for lane, fill in sources])

        _expect(got, _for_groups(GROUPS[group], width, both, combine), f"{group}_{call}")


@pytest.mark.parametrize("diverged", [False, True], ids=["whole", "diverged"])
def test_votes(cpu, diverged):
    names = [(group, vote) for group in GROUPS for vote in VOTES]
    form = "([&]{{ uint r = 0; if (i % 3 != 1) r = uint({}); return r; }}())" if diverged else "{}"
    calls = [Call(vote, form.format(VOTES[vote].format(group)), np.abs) for group, vote in names]
    x = np.random.default_rng(9).integers(-3, 3, COUNT).astype(np.int32)
    results = run(cpu, calls, [x], kind="int", result="uint")
    for (group, vote), got in zip(names, results, strict=True):

        def combine(values, first, vote=vote):
            active = np.array([not diverged or (first + n) % 3 != 1 for n in range(len(values))])
            lanes = 1 << np.arange(len(values), dtype=np.int64)
            answers = {
                "any": (values > 1)[active].any(),
                "all": (values > -5)[active].all(),
                "is_first": np.arange(len(values)) == np.argmax(active),
                "ballot": lanes[active & (values > 0)].sum(),
                "active_threads_mask": lanes[active].sum(),
                "vote::all": active.all(),
                "vote::any": (values > 1)[active].any(),
            }
            return np.where(active, np.int64(answers[vote]), 0)

        _expect(got, _for_groups(GROUPS[group], 1, x, combine), f"{group} {vote}")


FLAGS = ["none", "device", "threadgroup", "texture", "threadgroup_imageblock", "object_data"]


@pytest.mark.parametrize(
    "barrier", ["threadgroup_barrier", "simdgroup_barrier", "quadgroup_barrier"]
)
def test_barriers_take_every_flag(cpu, barrier):
    flags = " | ".join(f"mem_flags::mem_{flag}" for flag in FLAGS)
    calls = [
        Call(flag, f"([&]{{ {barrier}(mem_flags::mem_{flag}); return a; }}())", np.abs)
        for flag in FLAGS
    ]
    calls.append(Call("all", f"([&]{{ {barrier}({flags}); return a; }}())", np.abs))
    x = np.arange(COUNT, dtype=np.int32)
    got = run(cpu, calls, [x], kind="int")
    np.testing.assert_array_equal(got[:, 0], np.tile(x, (len(calls), 1)))
