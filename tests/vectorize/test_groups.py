"""SIMD-group functions, on all active lanes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from vectorize.launches import ROWS, SOME, Form

TYPES = {
    "u8": ("i8", "u1"),
    "u16": ("i16", "u2"),
    "u32": ("i32", "u4"),
    "u64": ("i64", "u8"),
    "f16": ("half", "f2"),
    "bf16": ("bfloat", ml_dtypes.bfloat16),
    "f32": ("float", "f4"),
}
WHOLE = [each for each in TYPES if each[0] == "u"]
# Which lanes are active: what stands before the function, and the same of lanes.
ACTIVE = {
    "all": ("", lambda a: np.ones(32, bool)),
    "some": ("icmp ult i8 %v, 8", lambda a: a < 8),
    "one": ("icmp eq i8 %v, 77", lambda a: a == 77),
    "none": ("icmp eq i8 %v, 99", lambda a: a == 99),
}
FORMS = [Form(), Form(rows=False), Form(rows=False, live=SOME)]
FORM_NAMES = ["in a row", "any", "some live"]


def votes() -> np.ndarray:
    a = np.random.default_rng(1).integers(0, 16, 32, "u1")
    a[13] = 77
    return a


def within(active: str, *lines: str) -> str:
    """Lines that the active lanes run."""
    condition, _ = ACTIVE[active]
    inside = "\n".join(lines)
    if not condition:
        return f"%v = load i8, ptr %a.lane\n{inside}"
    return f"""
        %v = load i8, ptr %a.lane
        %c = {condition}
        br i1 %c, label %then, label %end
      then:
        {inside}
        br label %end
      end:
        ret void"""


def lanes_of(t: object, a: np.ndarray, active: str) -> np.ndarray:
    return t.lane[ACTIVE[active][1](a)[t.lane]]


@pytest.fixture(params=FORMS, ids=FORM_NAMES)
def form(request) -> Form:
    return request.param


@pytest.fixture(params=ACTIVE)
def active(request) -> str:
    return request.param


def values(dtype: object, small: bool = True) -> np.ndarray:
    """Numbers whose sums and products are exact."""
    if small:
        return np.random.default_rng(2).choice([0.5, 1, 2, 1, 1, 2], 32).astype(dtype)
    return np.random.default_rng(3).integers(0, 255, 32).astype(dtype)


def fold(function: Callable[..., object], items: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return reduce(lambda x, y: function(x, y).astype(items.dtype), items)


REDUCTIONS: dict[str, Callable[..., object]] = {
    "sum": operator.add,
    "product": operator.mul,
    "min": np.minimum,
    "max": np.maximum,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


@pytest.mark.parametrize("name", TYPES)
def test_reductions(check_form, form, active, name):
    """Also with values like the identity element in inactive lanes."""
    type_, dtype = TYPES[name]
    functions = [each for each in REDUCTIONS if name in WHOLE or each not in ("and", "or", "xor")]
    lines = [f"%x1 = load {type_}, ptr %b.lane"]
    for each in functions:
        marker = f"@mb_vector_{each}_{name}"
        lines += [
            f"%r{each} = call {type_} {marker}({type_} %x1)",
            f"store {type_} %r{each}, ptr %{each}.lane",
        ]

    def want(t, a, b, **results):
        lanes = lanes_of(t, a, active)
        for each, result in results.items():
            if len(lanes):
                result[lanes] = fold(REDUCTIONS[each.removeprefix("r_")], b[lanes])

    b = values(dtype, small=name not in WHOLE)
    b = -b if name in ("f16", "bf16") else b  # a max of 0 is not theirs
    results = {each: np.full(32, 33).astype(dtype) for each in functions}
    check_form(form, within(active, *lines), want, a=votes(), b=b, **results)


@pytest.mark.parametrize("name", TYPES)
def test_scans(check_form, form, active, name):
    type_, dtype = TYPES[name]
    lines, results = [f"%x1 = load {type_}, ptr %b.lane"], {}
    for order in ("inclusive", "exclusive"):
        for function in ("sum", "product"):
            each = f"{order}_{function}"
            lines += [
                f"%r{each} = call {type_} @mb_vector_{each}_{name}({type_} %x1)",
                f"store {type_} %r{each}, ptr %{each}.lane",
            ]
            results[each] = np.full(32, 33).astype(dtype)

    def want(t, a, b, **results):
        lanes = lanes_of(t, a, active)
        for each, result in results.items():
            order, function = each.split("_")
            total = np.array(0 if function == "sum" else 1, dtype)
            for lane in lanes:
                after = REDUCTIONS[function](total, b[lane]).astype(dtype)
                result[lane] = after if order == "inclusive" else total
                total = after

    b = values(dtype, small=name not in WHOLE)
    check_form(form, within(active, *lines), want, a=votes(), b=b, **results)


def of_every_type(call: str) -> list[str]:
    """A function of all types, `call` without its first operand: of `b_TYPE`, into `out_TYPE`."""
    lines = []
    for name, (type_, _) in TYPES.items():
        lines += [
            f"%x{name} = load {type_}, ptr %b_{name}.lane",
            f"%r{name} = " + call.format(type=type_, name=name, value=f"%x{name}"),
            f"store {type_} %r{name}, ptr %out_{name}.lane",
        ]
    condition = call.format(type="i1", name="b1", value="%odd")
    return [
        *lines,
        "%odd = trunc i8 %xu8 to i1",
        f"%rb1 = {condition}",
        "%zb1 = zext i1 %rb1 to i8",
        "store i8 %zb1, ptr %out_b1.lane",
    ]


def arrays_of_every_type() -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(4).integers(1, 100, 32)
    given = {f"b_{name}": numbers.astype(dtype) for name, (_, dtype) in TYPES.items()}
    results = {f"out_{name}": np.full(32, 33).astype(dtype) for name, (_, dtype) in TYPES.items()}
    return given | results | {"out_b1": np.full(32, 33, "u1")}


def leave(memory: dict[str, np.ndarray], lane: int, source: int | None) -> None:
    """Store the values that `lane` gets from another lane, or from none."""
    for name in TYPES:
        memory[f"out_{name}"][lane] = 0 if source is None else memory[f"b_{name}"][source]
    memory["out_b1"][lane] = 0 if source is None else memory["b_u8"][source] % 2


@pytest.mark.parametrize("source", ["each", "shared", "constant", "known", "beyond"])
def test_shuffles(check_form, form, active, source):
    """Zero from lanes that are not active, and from such as there are not."""
    line, operand = {
        "each": ("%s = load i32, ptr %from.lane", "%s"),
        "shared": ("", "%n"),
        "constant": ("", "13"),
        "known": ("%s = xor i32 %lane, 3", "%s"),
        "beyond": ("%s = add i32 %lane, 5", "%s"),
    }[source]
    call = f"call {{type}} @mb_vector_shuffle_{{name}}({{type}} {{value}}, i32 {operand})"

    def want(t, a, n, **memory):
        lanes = lanes_of(t, a, active)
        sources = {
            "each": memory["from"][lanes],
            "shared": np.repeat(n, len(lanes)),
            "constant": np.repeat(13, len(lanes)),
            "known": lanes ^ 3,
            "beyond": lanes + 5,
        }[source]
        for lane, other in zip(lanes, sources, strict=True):
            leave(memory, lane, other if other in lanes else None)

    sources = np.random.default_rng(5).integers(0, 40, 32, "u4")
    sources[3], sources[5] = 2**32 - 1, 2**31
    for n in (2, 31, 32, -1) if source == "shared" else (2,):
        memory = {"a": votes(), "from": sources} | arrays_of_every_type()
        check_form(form, within(active, line, *of_every_type(call)), want, **memory, n=n)


def test_the_first_lane(check_form, form, active):
    call = "call {type} @mb_vector_first_{name}({type} {value})"

    def want(t, a, **memory):
        lanes = lanes_of(t, a, active)
        for lane in lanes:
            leave(memory, lane, lanes[0])

    memory = {"a": votes()} | arrays_of_every_type()
    check_form(form, within(active, *of_every_type(call)), want, **memory)


def test_votes(check_form, form, active):
    """A ballot, and what all or some or an odd number of lanes say."""
    lines = [
        "%w = load i8, ptr %b.lane",
        "%yes = trunc i8 %w to i1",
        "%bits = call i32 @mb_vector_ballot(i1 %yes)",
        "store i32 %bits, ptr %ballot.lane",
    ]
    for each in ("and", "or", "xor"):
        lines += [
            f"%r{each} = call i1 @mb_vector_{each}_b1(i1 %yes)",
            f"%z{each} = zext i1 %r{each} to i32",
            f"store i32 %z{each}, ptr %{each}.lane",
        ]

    def want(t, a, b, **results):
        lanes = lanes_of(t, a, active)
        yes = b[lanes] % 2
        if len(lanes):
            results["ballot"][lanes] = np.sum(yes.astype("u8") << lanes.astype("u8")).astype("u4")
            results["and"][lanes] = yes.all()
            results["or"][lanes] = yes.any()
            results["xor"][lanes] = yes.sum() % 2

    results = {each: np.full(32, 9, "u4") for each in ("ballot", "and", "or", "xor")}
    for b in (values("u1", small=False), np.zeros(32, "u1"), np.ones(32, "u1")):
        check_form(form, within(active, *lines), want, a=votes(), b=b, **results)


def test_values_shared_by_all_lanes(check_form, form, active):
    lines = [
        "%s = call i32 @mb_vector_sum_u32(i32 %n)",
        "%p = call i32 @mb_vector_inclusive_sum_u32(i32 %n)",
        "%f = call i32 @mb_vector_first_u32(i32 %n)",
        "%h = call i32 @mb_vector_shuffle_u32(i32 %n, i32 13)",
        "store i32 %s, ptr %sums.lane",
        "store i32 %p, ptr %scans.lane",
        "store i32 %f, ptr %firsts.lane",
        "store i32 %h, ptr %thirteenth.lane",
    ]

    def want(t, a, sums, scans, firsts, thirteenth, n):
        lanes = lanes_of(t, a, active)
        sums[lanes] = n * len(lanes)
        scans[lanes] = n * np.arange(1, len(lanes) + 1)
        firsts[lanes] = n
        thirteenth[lanes] = n if 13 in lanes else 0

    names = ("sums", "scans", "firsts", "thirteenth")
    check_form(
        form,
        within(active, *lines),
        want,
        a=votes(),
        **{each: np.full(32, 7, "u4") for each in names},
        n=11,
    )


def test_infinities_are_smallest_and_largest(check_form):
    """A minimum of lanes that all have infinity, with inactive lanes."""
    lines = [
        "%x1 = load float, ptr %b.lane",
        "%m = call float @mb_vector_min_f32(float %x1)",
        "%minus = fneg float %x1",
        "%w = call float @mb_vector_max_f32(float %minus)",
        "store float %m, ptr %least.lane",
        "store float %w, ptr %most.lane",
    ]

    def want(t, a, b, least, most):
        lanes = lanes_of(t, a, "some")
        least[lanes], most[lanes] = np.inf, -np.inf

    zeros = {"least": np.zeros(32, "f4"), "most": np.zeros(32, "f4")}
    check_form(ROWS, within("some", *lines), want, a=votes(), b=np.full(32, np.inf, "f4"), **zeros)
