"""Test signature: the parameters of a kernel for devices that compile MSL themselves."""

from __future__ import annotations

import pytest

from metalbench import build_cache
from metalbench.msl import engine

TEXT = """#include <metal_stdlib>
using namespace metal;
constant bool scaled [[function_constant(0)]];
kernel void f(device const half4* x [[buffer(3)]], texture2d<float, access::write> t,
              constant float& by [[buffer(1), function_constant(scaled)]],
              threadgroup ELEMENT* shared, uint2 i [[thread_position_in_grid]]) {}
"""
MACROS = {"ELEMENT": "float"}


def signature(text=TEXT, function="f", scaled=True, macros=MACROS):
    return engine.signature(text, "k.metal", macros, [], function, {"scaled": scaled})


def test_signature_agrees_with_the_build():
    program = engine.parse(TEXT, "k.metal", MACROS)
    for scaled in (True, False):
        built, told = engine.build(program, "f", {"scaled": scaled}), signature(scaled=scaled)
        assert told.arguments == built.arguments
        assert told.attributes == built.attributes
    assert [each["name"] for each in told.arguments] == ["x", "t", "shared"]


def test_the_second_signature_is_cached(monkeypatch):
    first = signature()
    monkeypatch.setattr(engine.MslProgram, "source", None)
    assert signature() == first
    assert first.attributes == [{"name": "thread_position_in_grid", "type": "uint2"}]


@pytest.mark.parametrize(
    "text",
    [
        "kernel void f(device float* x {}",
        "kernel void g(device float* x) {}",
        "#error no\nkernel void f(device float* x) {}",
        "struct V { float4 p [[attribute(0)]]; };\nkernel void f(V v [[stage_in]]) {}",
    ],
    ids=["brackets", "another name", "preprocessor", "another stage"],
)
def test_an_invalid_source_has_no_signature(text):
    assert signature(text) is None


def test_a_missing_function_constant_leaves_it_to_the_device():
    assert engine.signature(TEXT, "k.metal", MACROS, [], "f", {}) is None


def test_artifacts_are_named_by_content():
    path = build_cache.artifact(["source", "device"], ".binarchive")
    assert path == build_cache.artifact(["source", "device"], ".binarchive")
    assert path.endswith(".binarchive")
    others = [
        build_cache.artifact(parts, ".binarchive") for parts in (["sourced", "evice"], ["source"])
    ]
    assert len({path, *others}) == 3
    with open(path, "x"):
        pass


def test_artifacts_say_when_the_cache_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(engine.Error, match="set METALBENCH_CACHE to a folder that can"):
        build_cache.artifact(["source"], ".binarchive")
