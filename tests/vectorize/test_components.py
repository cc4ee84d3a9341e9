"""Elements of vectors and structs, and selects."""

from __future__ import annotations

import numpy as np
import pytest


def test_vectors_of_a_lane(check):
    """Arithmetic by elements, elements taken out and put in by known and by varying indices."""
    body = """
        %pa = getelementptr <4 x float>, ptr %a, i64 %i
        %v = load <4 x float>, ptr %pa, align 16
        %k = load i32, ptr %index4.lane
        %twice = fadd <4 x float> %v, %v
        %mixed = shufflevector <4 x float> %twice, <4 x float> %v, <4 x i32> <i32 3, i32 4, i32 1, i32 6>
        %some = extractelement <4 x float> %mixed, i32 %k
        %first = extractelement <4 x float> %mixed, i64 0
        %in = insertelement <4 x float> %mixed, float 100.0, i32 %k
        %fixed = insertelement <4 x float> %in, float %first, i64 2
        store float %some, ptr %out.lane
        %po = getelementptr <4 x float>, ptr %all, i64 %i
        store <4 x float> %fixed, ptr %po, align 16"""
    a = np.arange(128, dtype="f4")

    def want(t, a, index4, out, all):
        for lane in t.lane:
            v = a[4 * lane :][:4]
            mixed = np.array([2 * v[3], v[0], 2 * v[1], v[2]])
            out[lane] = mixed[index4[lane]]
            mixed[index4[lane]] = 100
            mixed[2] = 2 * v[3]
            all[4 * lane :][:4] = mixed if index4[lane] != 0 else [100, *mixed[1:]]

    index4 = np.random.default_rng(1).integers(0, 4, 32, "u4")
    check(body, want, a=a, index4=index4, out=np.zeros(32, "f4"), all=np.zeros(128, "f4"))


def test_a_vector_for_all_lanes_with_an_index_of_each(check):
    body = """
        %v = load <4 x float>, ptr %a, align 16
        %k = load i32, ptr %which.lane
        %one = extractelement <4 x float> %v, i32 %k
        %in = insertelement <4 x float> %v, float 9.0, i32 %k
        %two = extractelement <4 x float> %in, i32 1
        %three = extractelement <4 x float> %v, i32 %n
        %sum = fadd float %one, %two
        %all = fadd float %sum, %three
        store float %all, ptr %out.lane"""
    which = np.random.default_rng(2).integers(0, 4, 32, "u4")

    def want(t, a, which, out, n):
        out[t.lane] = a[which[t.lane]] + np.where(which[t.lane] == 1, 9, a[1]) + a[n]

    check(body, want, a=np.arange(4, dtype="f4"), which=which, out=np.zeros(32, "f4"), n=2)


def test_vectors_chosen_by_a_vector_of_conditions(check):
    body = """
        %pa = getelementptr <2 x i32>, ptr %a, i64 %i
        %v = load <2 x i32>, ptr %pa, align 8
        %c = icmp ult <2 x i32> %v, splat (i32 20)
        %r = select <2 x i1> %c, <2 x i32> %v, <2 x i32> <i32 -1, i32 -2>
        %c0 = extractelement <2 x i1> %c, i64 0
        %q = select i1 %c0, <2 x i32> %r, <2 x i32> zeroinitializer
        %po = getelementptr <2 x i32>, ptr %out, i64 %i
        store <2 x i32> %q, ptr %po, align 8"""

    def want(t, a, out):
        v = a.reshape(-1, 2)[t.lane]
        r = np.where(v < 20, v, [[2**32 - 1, 2**32 - 2]])
        out.reshape(-1, 2)[t.lane] = np.where(v[:, :1] < 20, r, 0)

    a = np.random.default_rng(6).integers(0, 40, 64, "u4")
    check(body, want, a=a, out=np.full(64, 7, "u4"))


@pytest.mark.parametrize("condition", ["%c", "%u"], ids=["varying", "uniform"])
def test_selects(check, condition):
    body = f"""
        %v = load i32, ptr %a.lane
        %w = load i32, ptr %b
        %c = icmp sgt i32 %v, %w
        %u = icmp sgt i32 %w, 5
        %r = select i1 {condition}, i32 %v, i32 %w
        store i32 %r, ptr %out.lane"""

    def want(t, a, b, out):
        chosen = a[t.lane] > b[0] if condition == "%c" else b[0] > 5
        out[t.lane] = np.where(chosen, a[t.lane], b[0])

    check(body, want, a=np.arange(32, dtype="i4"), b=np.array([11], "i4"), out=np.zeros(32, "i4"))


def test_structs(check):
    """Parts put in and taken out, also of structs within structs."""
    body = """
        %v = load i32, ptr %a.lane
        %w = load float, ptr %b.lane
        %s1 = insertvalue { i32, { float, [2 x i16] }, i64 } poison, i32 %v, 0
        %s2 = insertvalue { i32, { float, [2 x i16] }, i64 } %s1, float %w, 1, 0
        %t = trunc i32 %v to i16
        %s3 = insertvalue { i32, { float, [2 x i16] }, i64 } %s2, i16 %t, 1, 1, 1
        %in = extractvalue { i32, { float, [2 x i16] }, i64 } %s3, 1
        %again = insertvalue { i32, { float, [2 x i16] }, i64 } %s3, { float, [2 x i16] } %in, 1
        %x0 = extractvalue { i32, { float, [2 x i16] }, i64 } %again, 0
        %x1 = extractvalue { float, [2 x i16] } %in, 0
        %x2 = extractvalue { i32, { float, [2 x i16] }, i64 } %again, 1, 1, 1
        %wide = zext i16 %x2 to i32
        %sum = add i32 %x0, %wide
        store i32 %sum, ptr %out.lane
        store float %x1, ptr %floats.lane"""

    def want(t, a, b, out, floats):
        out[t.lane] = a[t.lane] + (a[t.lane] & 0xFFFF)
        floats[t.lane] = b[t.lane]

    a = np.random.default_rng(11).integers(0, 2**32, 32, "u4")
    b = np.arange(32, dtype="f4")
    check(body, want, a=a, b=b, out=np.zeros(32, "u4"), floats=np.zeros(32, "f4"))
