// kernel: ../../common/rect_mm.metal
