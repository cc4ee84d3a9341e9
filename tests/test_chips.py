"""The table of Apple's chips: peak rates by the number of GPU cores."""

from __future__ import annotations

import pytest

from metalbench.chips import CHIPS, TFLOPS_OF_A_CORE, PeakRates, peak_rates


@pytest.mark.parametrize(
    ("chip", "cores", "gbytes_per_s", "tflops"),
    [
        ("m1", 8, 68.25, 2.6),
        ("m1", 7, 68.25, 2.6 * 7 / 8),
        ("m4_max", 32, 410, 32 * TFLOPS_OF_A_CORE),
        ("m4_max", 40, 546, 40 * TFLOPS_OF_A_CORE),
        # The number of cores is not reported, or is not one that is sold.
        ("m4_max", 0, 546, 40 * TFLOPS_OF_A_CORE),
        ("m4_max", 36, 546, 40 * TFLOPS_OF_A_CORE),
        ("m1_pro", 0, 200, 5.2),
    ],
)
def test_peak_rates_depend_on_the_number_of_cores(chip, cores, gbytes_per_s, tflops):
    rates = peak_rates(chip, cores)
    assert rates is not None
    assert rates.bytes_per_s == pytest.approx(1e9 * gbytes_per_s)
    assert rates.flops_per_s == pytest.approx(1e12 * tflops)


@pytest.mark.parametrize("chip", [None, "", "m99", "h100"])
def test_an_unknown_chip_has_no_peak_rates(chip):
    assert peak_rates(chip, 40) is None


def test_more_cores_are_never_slower():
    for chip in CHIPS.values():
        fewer, more = (chip.peak_rates(cores) for cores in (min(chip.bandwidths), chip.cores))
        assert fewer.bytes_per_s <= more.bytes_per_s
        assert fewer.flops_per_s <= more.flops_per_s


def test_least_seconds_is_the_longer_of_memory_and_arithmetic():
    rates = PeakRates(bytes_per_s=10, flops_per_s=100)
    assert rates.least_seconds(flops=100, nbytes=5) == 1.0
    assert rates.least_seconds(flops=100, nbytes=20) == 2.0
