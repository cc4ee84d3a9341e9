// kernel: bitwise_invert.metal leading_zeros
