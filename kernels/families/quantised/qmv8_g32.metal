// kernel: qmv4.metal q8_g32
