// kernel: ../../common/selu.metal
