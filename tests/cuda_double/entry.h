
# 1 "<double>"
extern "C" MB_SHARED mb::u8 __attribute__((aligned(16))) mb_arena[49152] = {};
extern "C" __attribute__((visibility("default"))) void mb_run_group(
    const mb::gpu::Launch* launch, const unsigned* group, const unsigned* threads) {
  mb_double_group = {group[0], group[1], group[2]};
  for (unsigned z = 0; z < threads[2]; ++z)
    for (unsigned y = 0; y < threads[1]; ++y)
      for (unsigned x = 0; x < threads[0]; ++x) {
        mb_double_thread = {x, y, z};
        mb_entry(*launch);
      }
}
