// kernel: sqrt.metal erf
