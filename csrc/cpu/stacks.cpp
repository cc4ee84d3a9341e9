#include "cpu/stacks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/errors.h"

namespace metalbench::cpu {

Stacks::Stacks(std::uint32_t count)
    : count_(count), page_bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  mapping_bytes_ = (count_ + 1) * mb::stack_bytes;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapping == MAP_FAILED) {
    throw OutOfMemoryError("cpu device: no address space for " + std::to_string(count) +
                           " stacks: " + std::strerror(errno) + "; raise `ulimit -v`");
  }
  mapping_ = static_cast<std::byte*>(mapping);
  const auto start = reinterpret_cast<mb::uptr>(mapping_);
  base_ = mapping_ + (mb::stack_bytes - start % mb::stack_bytes) % mb::stack_bytes;
  for (std::size_t i = 0; i < count_; ++i) {
    mprotect(base_ + i * mb::stack_bytes, page_bytes_, PROT_NONE);
  }
}

Stacks::~Stacks() {
  forget_frames();
  munmap(mapping_, mapping_bytes_);
}

bool Stacks::in_guard(const void* address) const {
  const auto offset = reinterpret_cast<mb::uptr>(address) - reinterpret_cast<mb::uptr>(base_);
  return contains(address) && offset % mb::stack_bytes < page_bytes_;
}

}  // namespace metalbench::cpu
