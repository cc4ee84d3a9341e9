// kernel: bitwise_and.metal left_shift
