// kernel: bitwise_and.metal right_shift
