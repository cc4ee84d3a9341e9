enum { block = 4096, blocks = 4096 };

// Items are blocks: their sums first, then what comes before each, then all sums.
void sums_of_blocks(const unsigned* restrict x, unsigned* restrict sums, long begin, long end) {
  for (long b = begin; b < end; ++b) {
    unsigned sum = 0;
    for (long i = b * block; i < (b + 1) * block; ++i) sum += x[i];
    sums[b] = sum;
  }
}

void starts_of_blocks(unsigned* sums, long begin, long end) {
  if (begin == end) return;
  unsigned sum = 0;
  for (long b = 0; b < blocks; ++b) {
    const unsigned own = sums[b];
    sums[b] = sum;
    sum += own;
  }
}

void scan(const unsigned* restrict x, const unsigned* restrict sums, unsigned* restrict y,
          long begin, long end) {
  for (long b = begin; b < end; ++b) {
    unsigned sum = sums[b];
    for (long i = b * block; i < (b + 1) * block; ++i) y[i] = sum += x[i];
  }
}
