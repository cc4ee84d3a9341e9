// kernel: ../../common/leaky_relu.metal
