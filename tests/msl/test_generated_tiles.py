"""Kernels in the style of code generators: aligned threadgroup tiles, vectors through casts."""

from __future__ import annotations

import numpy as np
import pytest
from engine_ways import WAYS, on

from metalbench import _core

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
ARGUMENTS = (
    "uint3 gid [[threadgroup_position_in_grid]], uint3 lid [[thread_position_in_threadgroup]]"
)
SHARED = "threadgroup __attribute__((aligned(16))) float"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


@pytest.fixture(params=[*WAYS, "checked"])
def outputs_of(request, cpu):
    """Run a kernel with data0 as its output, in every kind of build; return the output."""

    def run(body: str, groups, threads, shape, *inputs: np.ndarray) -> np.ndarray:
        given = ", ".join(f"device float* data{index + 1}" for index in range(len(inputs)))
        source = f"{HEADER}kernel void f(device float* data0, {given}, {ARGUMENTS}) {{{body}}}"
        pipeline = cpu.compile(source, checked=request.param == "checked").pipeline("f")
        out = np.zeros(shape, np.float32)
        arrays = {"data0": out} | {f"data{index + 1}": each for index, each in enumerate(inputs)}
        cpu.run([_core.Dispatch(pipeline, arrays, threadgroups=groups, threads=threads)])
        return out

    if request.param == "checked":
        yield run
        return
    with on(request.param, request.node):
        yield run


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def test_sums_of_rows(outputs_of):
    body = f"""
      {SHARED} temp0[16];
      int gidx0 = gid.x; int lidx0 = lid.x;
      float acc0 = 0.0f;
      for (int ridx0 = 0; ridx0 < 8; ridx0++) {{
        float4 val0 = *((device float4*)((data1+((gidx0*512)+(lidx0*4)+(ridx0*64)))));
        acc0 = (acc0+val0.x+val0.y+val0.z+val0.w);
      }}
      *(temp0+lidx0) = acc0;
      {BARRIER}
      if (lidx0 == 0) {{
        float acc1 = 0.0f;
        for (int ridx1 = 0; ridx1 < 16; ridx1++) {{ acc1 = (acc1+(*(temp0+ridx1))); }}
        *(data0+gidx0) = acc1;
      }}"""
    x = values(6, 512)
    found = outputs_of(body, (6, 1, 1), (16, 1, 1), 6, x)
    np.testing.assert_allclose(found, x.astype(np.float64).sum(1), atol=1e-4)


def test_largest_of_everything(outputs_of):
    body = f"""
      {SHARED} temp0[256];
      int lidx0 = lid.x; int lidx1 = lid.y; int alu0 = ((lidx0*16)+lidx1);
      float acc0 = ((float)(-INFINITY));
      for (int ridx0 = 0; ridx0 < 5; ridx0++) {{
        float val0 = *(data1+((alu0*5)+ridx0));
        acc0 = ((acc0<val0)?val0:acc0);
      }}
      *(temp0+alu0) = acc0;
      {BARRIER}
      float acc1 = ((float)(-INFINITY));
      for (int ridx1 = 0; ridx1 < 256; ridx1++) {{
        float val1 = *(temp0+ridx1);
        acc1 = ((acc1<val1)?val1:acc1);
      }}
      if (alu0 < 1) {{ *data0 = acc1; }}"""
    x = values(1280)
    assert outputs_of(body, (1, 1, 1), (16, 16, 1), 1, x)[0] == x.max()


def test_product_of_matrices_in_tiles(outputs_of):
    body = f"""
      {SHARED} temp0[256], temp1[256];
      int gidx0 = gid.x; int gidx1 = gid.y; int lidx0 = lid.x; int lidx1 = lid.y;
      float acc0 = 0.0f;
      for (int ridx0 = 0; ridx0 < 3; ridx0++) {{
        *(temp0+(lidx1*16+lidx0)) = *(data1+((gidx1*16+lidx1)*48+ridx0*16+lidx0));
        *(temp1+(lidx1*16+lidx0)) = *(data2+((ridx0*16+lidx1)*32+gidx0*16+lidx0));
        {BARRIER}
        for (int ridx1 = 0; ridx1 < 16; ridx1++) {{
          acc0 = (acc0+((*(temp0+(lidx1*16+ridx1)))*(*(temp1+(ridx1*16+lidx0)))));
        }}
        {BARRIER}
      }}
      *(data0+((gidx1*16+lidx1)*32+gidx0*16+lidx0)) = acc0;"""
    a, b = values(64, 48), values(48, 32)
    found = outputs_of(body, (2, 4, 1), (16, 16, 1), (64, 32), a, b)
    np.testing.assert_allclose(found, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_product_with_vectors_of_a_tile(outputs_of):
    body = f"""
      {SHARED} temp0[128];
      int gidx0 = gid.x; int lidx0 = lid.x;
      *((threadgroup float4*)((temp0+(lidx0*4)))) = *((device float4*)((data1+(lidx0*4))));
      {BARRIER}
      float acc0 = 0.0f;
      for (int ridx0 = 0; ridx0 < 32; ridx0++) {{
        float4 val0 = *((threadgroup float4*)((temp0+(ridx0*4))));
        float4 val1 = *((device float4*)((data2+((gidx0*32+lidx0)*128+ridx0*4))));
        acc0 = (acc0+(val0.x*val1.x)+(val0.y*val1.y)+(val0.z*val1.z)+(val0.w*val1.w));
      }}
      *(data0+(gidx0*32+lidx0)) = acc0;"""
    x, m = values(128), values(64, 128)
    found = outputs_of(body, (2, 1, 1), (32, 1, 1), 64, x, m)
    np.testing.assert_allclose(found, m.astype(np.float64) @ x.astype(np.float64), atol=1e-4)


def test_softmax_of_rows(outputs_of):
    body = f"""
      {SHARED} temp0[8]; {SHARED} temp1[8];
      int gidx0 = gid.x; int lidx0 = lid.x;
      float acc0 = ((float)(-INFINITY));
      for (int r = 0; r < 12; r++) {{ acc0 = max(acc0, *(data1+(gidx0*96+lidx0*12+r))); }}
      *(temp0+lidx0) = acc0;
      {BARRIER}
      float acc1 = ((float)(-INFINITY));
      for (int r = 0; r < 8; r++) {{ acc1 = max(acc1, *(temp0+r)); }}
      float acc2 = 0.0f;
      for (int r = 0; r < 12; r++) {{ acc2 = (acc2+exp2((*(data1+(gidx0*96+lidx0*12+r))-acc1)*1.4426950408889634f)); }}
      *(temp1+lidx0) = acc2;
      {BARRIER}
      float acc3 = 0.0f;
      for (int r = 0; r < 8; r++) {{ acc3 = (acc3+*(temp1+r)); }}
      for (int r = 0; r < 12; r++) {{
        *(data0+(gidx0*96+lidx0*12+r)) = exp2((*(data1+(gidx0*96+lidx0*12+r))-acc1)*1.4426950408889634f)*(1/acc3);
      }}"""
    x = values(5, 96)
    exact = np.exp(x - x.max(1, keepdims=True).astype(np.float64))
    found = outputs_of(body, (5, 1, 1), (8, 1, 1), (5, 96), x)
    np.testing.assert_allclose(found, exact / exact.sum(1, keepdims=True), rtol=2e-5)


def test_moments_of_columns(outputs_of):
    body = f"""
      {SHARED} temp0[64]; {SHARED} temp1[64];
      int lidx0 = lid.x; int lidx1 = lid.y; int gidx0 = gid.x;
      float acc0 = 0.0f; float acc1 = 0.0f;
      for (int r = 0; r < 10; r++) {{
        float val0 = *(data1+((lidx1*10+r)*24+gidx0*8+lidx0));
        acc0 = (acc0+val0); acc1 = (acc1+(val0*val0));
      }}
      *(temp0+(lidx1*8+lidx0)) = acc0; *(temp1+(lidx1*8+lidx0)) = acc1;
      {BARRIER}
      if (lidx1 == 0) {{
        float acc2 = 0.0f; float acc3 = 0.0f;
        for (int r = 0; r < 8; r++) {{
          acc2 = (acc2+*(temp0+(r*8+lidx0))); acc3 = (acc3+*(temp1+(r*8+lidx0)));
        }}
        *(data0+(gidx0*8+lidx0)) = acc3*0.0125f-(acc2*0.0125f)*(acc2*0.0125f);
      }}"""
    x = values(80, 24)
    found = outputs_of(body, (3, 1, 1), (8, 8, 1), 24, x)
    np.testing.assert_allclose(found, x.astype(np.float64).var(0), atol=1e-4)


def test_sums_before_each_element(outputs_of):
    body = f"""
      {SHARED} temp0[128];
      int lidx0 = lid.x;
      *(temp0+lidx0) = *(data1+lidx0);
      for (int d = 1; d < 128; d *= 2) {{
        {BARRIER}
        float val0 = ((lidx0<d)?0.0f:(*(temp0+(lidx0-d))));
        {BARRIER}
        *(temp0+lidx0) = (*(temp0+lidx0)+val0);
      }}
      *(data0+lidx0) = *(temp0+lidx0);"""
    x = values(128)
    found = outputs_of(body, (1, 1, 1), (128, 1, 1), 128, x)
    np.testing.assert_allclose(found, x.astype(np.float64).cumsum(), atol=1e-4)
