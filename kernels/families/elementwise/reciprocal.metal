// kernel: sqrt.metal reciprocal
