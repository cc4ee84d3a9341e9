// kernel: ../../common/cumprod.metal
