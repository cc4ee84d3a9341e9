// kernel: segmented_sort.metal int32
