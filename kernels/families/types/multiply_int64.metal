// kernel: bitwise_and.metal multiply_int64
