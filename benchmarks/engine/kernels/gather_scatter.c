enum { block = 1024 };

// Items are blocks.
void gather_scatter(const float* restrict x, const unsigned* restrict index, float* restrict y,
                    long begin, long end) {
  for (long first = begin * block; first < end * block; first += block) {
    float moved[block];
    for (long i = 0; i < block; ++i) moved[index[first + i]] = x[first + i];
    for (long i = 0; i < block; ++i) y[first + i] = moved[i] + x[first + index[first + i]];
  }
}
