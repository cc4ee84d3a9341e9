// kernel: ../../common/tanh.metal
