// kernel: silu_gate.metal maximum
