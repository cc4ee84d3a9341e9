// What clang's coverage instrumentation calls: notes which blocks ran, and at the end of the
// process appends their addresses to the file that METAL_DOUBLE_COVERAGE names.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

struct BasicBlock {
  std::uintptr_t address;
  std::uintptr_t flags;
};

struct Blocks {
  std::uint32_t* guards = nullptr;
  std::vector<std::uint8_t> seen;
  const BasicBlock* table = nullptr;

  ~Blocks() {
    const char* path = std::getenv("METAL_DOUBLE_COVERAGE");
    Dl_info info;
    if (path == nullptr || table == nullptr || dladdr(table, &info) == 0) return;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "a"), std::fclose);
    if (file == nullptr) return;
    const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      std::fprintf(file.get(), "%lx %d\n", static_cast<unsigned long>(table[i].address - base),
                   seen[i]);
    }
  }
};

Blocks blocks;

}  // namespace

extern "C" {

void __sanitizer_cov_trace_pc_guard_init(std::uint32_t* start, std::uint32_t* stop) {
  if (start == stop || *start != 0) return;
  std::uint32_t next = 0;
  for (std::uint32_t* guard = start; guard < stop; ++guard) *guard = ++next;
  blocks.guards = start;
  blocks.seen.resize(next);
}

void __sanitizer_cov_pcs_init(const std::uintptr_t* start, const std::uintptr_t* /*stop*/) {
  blocks.table = reinterpret_cast<const BasicBlock*>(start);
}

// Races only to write the same value.
void __sanitizer_cov_trace_pc_guard(std::uint32_t* guard) {
  if (*guard != 0 && *guard <= blocks.seen.size()) blocks.seen[*guard - 1] = 1;
}
}
