// kernel: bitwise_and.metal remainder_int32
