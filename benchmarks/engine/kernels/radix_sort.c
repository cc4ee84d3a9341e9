enum { keys = 1024 * 1024, blocks = 64, block = keys / blocks, digits = 256 };

// Items are blocks; digits have 8 bits.
void count_digits(const unsigned* restrict x, unsigned* restrict counts, long shift, long begin,
                  long end) {
  for (long b = begin; b < end; ++b) {
    unsigned own[digits] = {0};
    for (long i = b * block; i < (b + 1) * block; ++i) ++own[x[i] >> shift & (digits - 1)];
    for (long d = 0; d < digits; ++d) counts[d * blocks + b] = own[d];
  }
}

void starts_of_digits(unsigned* counts, long begin, long end) {
  if (begin == end) return;
  unsigned sum = 0;
  for (long i = 0; i < digits * blocks; ++i) {
    const unsigned count = counts[i];
    counts[i] = sum;
    sum += count;
  }
}

void move_keys(const unsigned* restrict x, unsigned* restrict y, const unsigned* restrict counts,
               long shift, long begin, long end) {
  for (long b = begin; b < end; ++b) {
    unsigned starts[digits];
    for (long d = 0; d < digits; ++d) starts[d] = counts[d * blocks + b];
    for (long i = b * block; i < (b + 1) * block; ++i)
      y[starts[x[i] >> shift & (digits - 1)]++] = x[i];
  }
}
