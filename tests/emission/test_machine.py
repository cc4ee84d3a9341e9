"""What is known of a processor by the module that is compiled for it."""

from __future__ import annotations

import pytest
from emission.launches import AVX2, AVX512

from metalbench.msl.emission.machine import Machine, machine_of


@pytest.mark.parametrize(
    ("features", "machine"),
    [
        ("", Machine()),
        ("+sse2,+sse4.2", Machine()),
        ("+neon,+fp-armv8", Machine()),
        (AVX2, Machine(words=True)),
        (AVX512, Machine(words=True, all_sizes=True)),
    ],
)
def test_features_say_which_masks_there_are(features, machine):
    assert machine_of(f'attributes #0 = {{ "target-features"="{features}" }}') == machine


def test_without_features_there_are_no_masks():
    assert machine_of("define void @f() {\n}") == Machine()


def test_sizes():
    for machine, masks, scatters in (
        (Machine(), (), ()),
        (Machine(words=True), (4, 8), ()),
        (Machine(words=True, all_sizes=True), (1, 2, 4, 8), (4, 8)),
    ):
        assert tuple(size for size in (1, 2, 4, 8) if machine.masks(size)) == masks
        assert tuple(size for size in (1, 2, 4, 8) if machine.scatters(size)) == scatters
