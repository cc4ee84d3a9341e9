// kernel: ../../common/sigmoid.metal
