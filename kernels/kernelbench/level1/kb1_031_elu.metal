// kernel: ../../common/elu.metal
