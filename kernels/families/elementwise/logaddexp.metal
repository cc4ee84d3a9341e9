// kernel: silu_gate.metal logaddexp
