// kernel: ../../common/sqr_mm.metal
