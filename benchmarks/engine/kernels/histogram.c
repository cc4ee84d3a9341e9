void clear(unsigned* counts, long begin, long end) {
  for (long i = begin; i < end; ++i) counts[i] = 0;
}

// Separate bins for each item, 16384 numbers.
void histogram(const unsigned* restrict x, unsigned* counts, long begin, long end) {
  for (long part = begin; part < end; ++part) {
    unsigned bins[256] = {0};
    for (long i = 0; i < 16384; ++i) ++bins[x[part * 16384 + i]];
    for (long i = 0; i < 256; ++i) __atomic_fetch_add(&counts[i], bins[i], __ATOMIC_RELAXED);
  }
}
