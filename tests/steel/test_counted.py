"""The text of a counted run for proposers."""

from __future__ import annotations

from agent_steel.proposal import count_facts
from metalbench.profiling import profile

SOURCE = """// dispatch: reverse threads_in_grid=(n) threads=(64)
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
kernel void reverse(device const float* x, device float* y, constant uint& n,
                    uint i [[thread_position_in_grid]]) {
  y[i] = x[n - 1 - i];
}
"""


def test_count_facts_lists_every_dispatch(tmp_path):
    path = tmp_path / "reverse.metal"
    path.write_text(SOURCE)
    facts = {each.name: each.value for each in count_facts(profile(path))}
    assert facts["reverse, counted at size file: device memory"] == (
        "256 B read (256 of them different), 256 B written"
    )
    assert facts["reverse, counted at size file: transactions of 128 B"] == "4, 100 % coalesced"
    assert not any("barriers" in each for each in facts)
