// kernel: bitwise_and.metal bitwise_xor
