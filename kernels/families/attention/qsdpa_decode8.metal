// kernel: qsdpa_decode4.metal q8
