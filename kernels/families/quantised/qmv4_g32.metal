// kernel: qmv4.metal q4_g32
