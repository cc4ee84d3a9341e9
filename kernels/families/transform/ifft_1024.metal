// kernel: fft_1024.metal inverse
