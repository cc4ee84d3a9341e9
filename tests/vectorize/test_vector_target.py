"""Vector capabilities, from the features of a module."""

from __future__ import annotations

import pytest
from vectorize.launches import AVX2, AVX512

from metalbench.msl.ir.module import Module
from metalbench.msl.vectorize.body import VectorTarget, read_target


@pytest.mark.parametrize(
    ("features", "machine"),
    [
        ("", VectorTarget()),
        ("+sse2,+sse4.2", VectorTarget()),
        ("+neon,+fp-armv8", VectorTarget()),
        (AVX2, VectorTarget(masks_words=True)),
        (AVX512, VectorTarget(masks_words=True, masks_all_sizes=True)),
    ],
)
def test_read_target_reads_mask_features(features, machine):
    module = Module(
        f"define void @f() #1 {{\n}}\ndefine void @g() #0 {{\n}}\n"
        f'attributes #0 = {{ "target-features"="+avx2" }}\n'
        f'attributes #1 = {{ nounwind "target-features"="{features}" "a"="b" }}\n'
    )
    assert read_target(module, module.function("f")) == machine


def test_without_cpu_features_there_are_no_masks():
    module = Module("define void @f() {\n}")
    assert read_target(module, module.function("f")) == VectorTarget()


def test_sizes():
    for machine, masks, scatters in (
        (VectorTarget(), (), ()),
        (VectorTarget(masks_words=True), (4, 8), ()),
        (VectorTarget(masks_words=True, masks_all_sizes=True), (1, 2, 4, 8), (4, 8)),
    ):
        assert tuple(size for size in (1, 2, 4, 8) if machine.has_masked_access(size)) == masks
        assert tuple(size for size in (1, 2, 4, 8) if machine.has_gather_scatter(size)) == scatters
