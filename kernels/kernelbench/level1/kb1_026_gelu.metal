// kernel: ../../common/gelu.metal
