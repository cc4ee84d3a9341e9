// kernel: ../../common/hardsigmoid.metal
