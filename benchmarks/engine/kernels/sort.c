// The same network, one pass over the array for each distance beyond a run of 1024.
static void exchange(unsigned* low, unsigned* high, long distance, int ascending) {
  if (ascending) {
    for (long i = 0; i < distance; ++i) {
      const unsigned a = low[i], b = high[i];
      low[i] = a < b ? a : b;
      high[i] = a < b ? b : a;
    }
  } else {
    for (long i = 0; i < distance; ++i) {
      const unsigned a = low[i], b = high[i];
      low[i] = a < b ? b : a;
      high[i] = a < b ? a : b;
    }
  }
}

static void merge(unsigned* keys, long first, long size, long distance) {
  for (; distance > 0; distance /= 2) {
    for (long i = 0; i < 1024; i += 2 * distance)
      exchange(keys + i, keys + i + distance, distance, ((first + i) & size) == 0);
  }
}

void sort_runs(const unsigned* restrict x, unsigned* restrict y, long begin, long end) {
  for (long run = begin; run < end; ++run) {
    unsigned* keys = y + run * 1024;
    for (long i = 0; i < 1024; ++i) keys[i] = x[run * 1024 + i];
    for (long size = 2; size <= 1024; size *= 2) merge(keys, run * 1024, size, size / 2);
  }
}

void merge_runs(unsigned* y, long size, long begin, long end) {
  for (long run = begin; run < end; ++run) merge(y + run * 1024, run * 1024, size, 512);
}

// Items are pieces of 512 pairs.
void step_of(unsigned* y, long size, long distance, long begin, long end) {
  for (long i = begin * 512; i < end * 512; i += 512) {
    const long low = 2 * i - (i & (distance - 1));
    exchange(y + low, y + low + distance, 512, (low & size) == 0);
  }
}
