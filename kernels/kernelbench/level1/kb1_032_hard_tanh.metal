// kernel: ../../common/hardtanh.metal
