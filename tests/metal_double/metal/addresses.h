// Where the GPU sees buffers: in a separate range, so that a host's address is never taken for one
// of the GPU's. The engine follows host addresses; a Translation stands between the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "buffer.h"

namespace metal_double {

// The address of the first byte; no two buffers ever have the same.
[[nodiscard]] std::uint64_t give_address(std::span<std::byte> memory);
// The buffer ends.
void take_address_back(std::uint64_t address);

// Memory where a kernel may find addresses. What lies behind the first `own_bytes` may belong to
// others in part, because whole pages are lent to a GPU.
struct Region {
  std::span<std::byte> memory;
  std::size_t own_bytes = 0;
};

// While it lives, addresses of resident buffers are the host's in all memory that was entered, and
// in what these addresses lead to. Addresses of other buffers stay as they are, and those of the
// host's become invalid: a kernel that follows either faults, as on a GPU. At its end
// the memory has GPU addresses again, those that kernels wrote among them.
class Translation {
 public:
  // What the pass names, and what the queue's residency sets have.
  Translation(const std::vector<DoubleBuffer*>& named, const std::vector<DoubleBuffer*>& resident);
  ~Translation();
  Translation(const Translation&) = delete;
  Translation& operator=(const Translation&) = delete;

  void enter(const Region& region);

 private:
  struct Place {
    std::uint64_t gpu = 0;
    Region host;
    bool entered = false;
  };
  struct Changed {
    std::uint64_t* at = nullptr;
    std::uint64_t before = 0;
    std::uint64_t now = 0;
  };

  void translate(std::uint64_t& word, bool is_own);
  [[nodiscard]] std::uint64_t to_host(std::uint64_t word, bool is_own);

  std::scoped_lock<std::mutex> alone_;  // two of them would translate the same memory twice
  std::vector<Place> resident_;
  std::vector<Region> waiting_;
  std::vector<Region> entered_;
  std::vector<Changed> changed_;
};

}  // namespace metal_double
