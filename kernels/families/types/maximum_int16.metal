// kernel: bitwise_and.metal maximum_int16
