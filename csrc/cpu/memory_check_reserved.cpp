#include "cpu/memory_check_reserved.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/errors.h"

namespace metalbench::cpu {

Reserved::Reserved(std::size_t size, [[maybe_unused]] bool is_dense) : size_(size) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
#ifdef MAP_POPULATE
  if (is_dense) flags |= MAP_POPULATE;
#endif
  memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory_ == MAP_FAILED) {
    throw OutOfMemoryError("cpu device: no address space for a checked run: wanted " +
                           std::to_string(size) + " bytes: " + std::strerror(errno) +
                           "; check smaller sizes, or raise `ulimit -v`");
  }
}

Reserved::Reserved(Reserved&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}

Reserved::~Reserved() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

}  // namespace metalbench::cpu
