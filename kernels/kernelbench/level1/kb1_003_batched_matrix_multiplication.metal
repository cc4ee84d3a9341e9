// kernel: ../../common/batch_mm.metal
