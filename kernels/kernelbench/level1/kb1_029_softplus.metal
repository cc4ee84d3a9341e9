// kernel: ../../common/softplus.metal
