"""Loads and stores, by the uniformity of addresses."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from vectorize.launches import ROWS, emit_text, module

from metalbench.msl.vectorize.module import vectorize_module

ELEMENTS = {
    "i8": "u1",
    "i16": "u2",
    "i32": "u4",
    "i64": "u8",
    "float": "f4",
    "double": "f8",
    "half": "f2",
    "bfloat": ml_dtypes.bfloat16,
}
# How the index of a lane's element comes about, and which it is.
INDICES = {
    "uniform": ("%w = zext nneg i32 %n to i64", lambda t, n: np.repeat(n, len(t.lane))),
    "contiguous": ("%w = zext nneg i32 %index to i64", lambda t, n: t.index),
    "backwards": (
        "%k = sub nuw nsw i32 120, %index\n%w = zext nneg i32 %k to i64",
        lambda t, n: 120 - t.index,
    ),
    "strided by two": (
        "%k = shl nuw nsw i32 %index, 1\n%w = zext nneg i32 %k to i64",
        lambda t, n: 2 * t.index,
    ),
    "strided by three": (
        "%k = mul nuw nsw i32 %index, 3\n%w = zext nneg i32 %k to i64",
        lambda t, n: 3 * t.index,
    ),
    "strided by seven": (
        "%k = mul nuw nsw i32 %lane, 7\n%w = zext nneg i32 %k to i64",
        lambda t, n: 7 * t.lane,
    ),
    "checked": ("%k = add i32 %index, %n\n%w = zext i32 %k to i64", lambda t, n: t.index + n),
    "computed": (
        "%k = mul i32 %index, %n\n%k2 = urem i32 %k, 101\n%w = zext i32 %k2 to i64",
        lambda t, n: t.index * n % 101,
    ),
    "computed in a row": (
        "%k = and i32 %index, 255\n%w = zext i32 %k to i64",
        lambda t, n: t.index,
    ),
    "loaded": (
        "%k = load i32, ptr %places.lane\n%w = zext i32 %k to i64",
        lambda t, n: t.lane * 5 % 64,
    ),
}
PLACES = (np.arange(32) * 5 % 64).astype("u4")


def used(index: str) -> dict[str, np.ndarray | int]:
    return {"places": PLACES} if index == "loaded" else {"n": 5}


def numbers(dtype: object) -> np.ndarray:
    return (np.arange(320) % 120 + 1).astype(dtype)


@pytest.mark.parametrize("index", INDICES)
def test_loads_and_stores(check_machine, index):
    """Elements of every type. At equal addresses the last lane's value stays."""
    line, where = INDICES[index]
    lines, memory = [line], used(index)
    for type_, dtype in ELEMENTS.items():
        lines += [
            f"%q{type_} = getelementptr {type_}, ptr %any_{type_}, i64 %w",
            f"%v{type_} = load {type_}, ptr %q{type_}",
            f"%u{type_} = load {type_}, ptr %own_{type_}.lane",
            f"store {type_} %v{type_}, ptr %own_{type_}.lane",
            f"store {type_} %u{type_}, ptr %q{type_}",
        ]
        memory[f"any_{type_}"] = numbers(dtype)
        memory[f"own_{type_}"] = numbers(dtype)[100:132]

    def want(t, n=0, places=None, **memory):
        at = where(t, n)
        for type_ in ELEMENTS:
            whole, own = memory[f"any_{type_}"], memory[f"own_{type_}"]
            found, given = whole[at], own[t.lane]
            own[t.lane] = found
            whole[at] = given

    check_machine("\n".join(lines), want, **memory)


@pytest.mark.parametrize("type_", ["i16", "float", "i64"])
def test_all_lanes_store_one_value(check_machine, type_):
    """To one place, in a row, and anywhere."""
    body = f"""
        %v = load {type_}, ptr %a
        store {type_} %v, ptr %one
        store {type_} %v, ptr %row.lane
        %k = load i32, ptr %places.lane
        %w = zext i32 %k to i64
        %q = getelementptr {type_}, ptr %any, i64 %w
        store {type_} %v, ptr %q"""
    dtype = ELEMENTS[type_]

    def want(t, a, places, one, row, any):
        one[0] = a[0]
        row[t.lane] = a[0]
        any[places[t.lane]] = a[0]

    zeros = {name: np.zeros(64, dtype) for name in ("one", "row", "any")}
    check_machine(body, want, a=numbers(dtype), places=PLACES, **zeros)


VECTORS = ("<2 x float>", "<4 x float>", "<4 x half>", "<2 x i64>")


@pytest.mark.parametrize("index", INDICES)
def test_vectors_of_lanes(check, index):
    """Each lane's own vector, and one element of it."""
    line, where = INDICES[index]
    lines, memory = [line], used(index) | {"n": 3}
    for k, type_ in enumerate(VECTORS):
        count, kind = int(type_[1]), type_[5:-1]
        lines += [
            f"%q{k} = getelementptr {type_}, ptr %a{k}, i64 %w",
            f"%v{k} = load {type_}, ptr %q{k}",
            f"%at{k} = and i32 %n, {count - 1}",
            f"%e{k} = extractelement {type_} %v{k}, i32 %at{k}",
            f"%new{k} = insertelement {type_} %v{k}, {kind} %e{k}, i64 0",
            f"%p{k} = getelementptr {type_}, ptr %out{k}, i64 %w",
            f"store {type_} %new{k}, ptr %p{k}",
        ]
        memory[f"a{k}"] = (np.arange(320 * count) % 120).astype(ELEMENTS[kind])
        memory[f"out{k}"] = np.zeros_like(memory[f"a{k}"])

    def want(t, n, places=None, **memory):
        at = where(t, n)
        for k, type_ in enumerate(VECTORS):
            count = int(type_[1])
            new = memory[f"a{k}"].reshape(-1, count)[at]
            new[:, 0] = new[:, n % count]
            memory[f"out{k}"].reshape(-1, count)[at] = new

    check("\n".join(lines), want, **memory)


def test_pointers_in_memory(check):
    body = """
        %q = getelementptr i32, ptr %a, i64 %i
        %slot = getelementptr ptr, ptr %pointers, i64 %i
        store ptr %q, ptr %slot
        %back = load ptr, ptr %slot
        %v = load i32, ptr %back
        store i32 %v, ptr %out.lane"""

    def want(t, a, out, pointers):
        out[t.lane] = a[t.lane]
        pointers[t.lane] = 0

    a = np.arange(32, dtype="u4") + np.uint32(9)

    got_back = body + "\nstore ptr null, ptr %slot"
    check(got_back, want, a=a, out=np.zeros(32, "u4"), pointers=np.ones(32, "u8"))


def test_structs_of_lanes(check):
    body = """
        %q = getelementptr { float, i64 }, ptr %a, i64 %i
        %v = load { float, i64 }, ptr %q
        %f = extractvalue { float, i64 } %v, 0
        %n1 = extractvalue { float, i64 } %v, 1
        %m = add i64 %n1, 1
        %new = insertvalue { float, i64 } %v, i64 %m, 1
        %p = getelementptr { float, i64 }, ptr %out, i64 %i
        store { float, i64 } %new, ptr %p
        store float %f, ptr %floats.lane"""

    def want(t, a, out, floats):
        new = a.reshape(32, 2)[t.lane]
        floats[t.lane] = new[:, 0].astype("u4").view("f4")
        new[:, 1] += np.uint64(1)
        old = out.reshape(32, 2)
        old[t.lane] = new

    a = np.arange(64, dtype="u8")  # the upper half of a float's eight bytes is padding
    check(body, want, a=a, out=np.zeros(64, "u8"), floats=np.zeros(32, "f4"))


@pytest.mark.parametrize("active", [0, 1, 0xFFFFFFFF, 0x80000000, 0x00F0F00F])
@pytest.mark.parametrize("index", INDICES)
def test_masked_loads_and_stores(check_groups, index, active):
    """Within a region that SIMD-group functions keep together: loads and stores with masks."""
    line, where = INDICES[index]
    body = f"""
        %m = load i32, ptr %masks
        %b = shl nuw i32 1, %lane
        %has = and i32 %m, %b
        %c = icmp ne i32 %has, 0
        br i1 %c, label %then, label %end
      then:
        {line}
        %q = getelementptr i32, ptr %a, i64 %w
        %v = load i32, ptr %q
        %many = call i32 @mb_vector_sum_u32(i32 1)
        %r = add i32 %v, %many
        store i32 %r, ptr %out.lane
        %p = getelementptr i32, ptr %any, i64 %w
        store i32 %r, ptr %p
        br label %end
      end:
        ret void"""

    def want(t, a, masks, out, any, n=0, places=None):
        there = active >> t.lane & 1 == 1
        t = type(t)(*(each[there] for each in vars(t).values()))
        found = a[where(t, n)] + np.uint32(len(t.lane))
        out[t.lane] = found
        any[where(t, n)] = found

    check_groups(
        body,
        want,
        a=numbers("u4"),
        masks=np.array([active], "u4"),
        out=np.zeros(32, "u4"),
        any=np.zeros(320, "u4"),
        **used(index),
    )


@pytest.mark.parametrize("type_", ["i32", "i64"])
def test_volatile_and_atomic_accesses(check, type_):
    """Lane by lane, as they are; those of one place for all are done once."""
    size = 4 if type_ == "i32" else 8
    body = f"""
        %v = load volatile {type_}, ptr %a.lane, align {size}
        %u = load atomic {type_}, ptr %a monotonic, align {size}
        %s = add {type_} %v, %u
        store volatile {type_} %s, ptr %out.lane, align {size}
        store atomic {type_} %v, ptr %rest.lane monotonic, align {size}
        store atomic {type_} %s, ptr %last monotonic, align {size}"""
    dtype = ELEMENTS[type_]

    def want(t, a, out, rest, last):
        out[t.lane] = a[t.lane] + a[0]
        rest[t.lane] = a[t.lane]
        last[0] = out[t.lane[-1]]

    zeros = {name: np.zeros(32, dtype) for name in ("out", "rest", "last")}
    check(body, want, a=numbers(dtype)[:32], **zeros)


def test_contiguous_accesses_are_rows():
    body = "%v = load float, ptr %a.lane\nstore float %v, ptr %out.lane"
    text = emit_text(body, a=np.zeros(32, "f4"), out=np.zeros(32, "f4"))
    assert text.count("load <32 x float>") == 1
    assert text.count("store <32 x float>") == 1
    assert "masked" not in text


def test_uniform_accesses_run_once():
    body = "%v = load float, ptr %a\nstore float %v, ptr %out"
    text = emit_text(body, a=np.zeros(32, "f4"), out=np.zeros(32, "f4"))
    assert "<32 x float>" not in text


def test_only_atomic_accesses_are_aligned():
    body = """
        %v = load <4 x float>, ptr %a, align 16
        store <4 x float> %v, ptr %out, align 16
        %w = load atomic i32, ptr %a monotonic, align 4"""
    text = emit_text(body, a=np.zeros(32, "f4"), out=np.zeros(32, "f4"))
    assert "align 16" not in text
    assert "load atomic i32, ptr %v" in text


def test_lines_of_the_source_stay_with_accesses():
    """A fault is reported with the line of the user's source."""
    body = "%v = load float, ptr %a.lane, !dbg !7\nstore float %v, ptr %out.lane, !dbg !8"
    memory = {"a": np.zeros(32, "f4"), "out": np.zeros(32, "f4")}
    text = vectorize_module(module(body, "", memory), ROWS.launch)
    assert any("load <32 x float>" in each and "!dbg !7" in each for each in text.split("\n"))
    assert any("store <32 x float>" in each and "!dbg !8" in each for each in text.split("\n"))


@pytest.mark.parametrize(
    "index", ["contiguous", "checked", "computed", "computed in a row", "loaded"]
)
def test_integers_of_odd_lengths_are_stored_as_in_an_array(check, index):
    """clang makes one of three shorts, and on arm64 of three ints that are parameters."""
    text, which = INDICES[index]
    body = f"""
        {text}
        %q = getelementptr i48, ptr %a, i64 %w
        %v = load i48, ptr %q
        %u = add i48 %v, 3
        %p = getelementptr i48, ptr %out, i64 %w
        store i48 %u, ptr %p"""
    low = (1 << 48) - 1
    a = np.random.default_rng(1).integers(0, 1 << 63, 256, dtype="u8")

    def want(t, a, out, n=5, **_):
        chosen = which(t, n)
        out[chosen] = (out[chosen] & ~np.uint64(low)) | ((a[chosen] + 3) & low)

    check(body, want, a=a, out=np.full(256, 0xABCD << 48, "u8"), **used(index))


def test_integers_of_odd_lengths_go_through_memory_lane_by_lane(check):
    """Three words in one, an atomic's operand made of them, and what a lane alone takes along."""
    body = """
        %x0 = zext i32 %lane to i96
        %x1 = shl i96 %x0, 64
        %x = or i96 %x1, 7
        %k = load i32, ptr %places.lane
        %far = icmp ult i32 %k, 20
        br i1 %far, label %yes, label %join
      yes:
        %y = add i96 %x, 5
        br label %join
      join:
        %z = phi i96 [ %x, %entry ], [ %y, %yes ]
        %h = lshr i96 %z, 64
        %t = trunc i96 %h to i32
        %l = trunc i96 %z to i32
        %s = add i32 %t, %l
        store i32 %s, ptr %out.lane"""

    def want(t, places, out):
        out[t.lane] = t.lane + 7 + 5 * (places[t.lane] < 20)

    check(body, want, places=PLACES, out=np.zeros(32, "u4"))
