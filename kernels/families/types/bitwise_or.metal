// kernel: bitwise_and.metal bitwise_or
