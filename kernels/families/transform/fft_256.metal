// kernel: fft_1024.metal n256
