#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cpu/fault.h"

namespace metalbench::cpu {

// The faults of a run that goes on after them. Shared by all workers.
class Findings {
 public:
  struct Entry {
    Fault first;  // in the grid
    std::size_t launch = 0;
    std::uint64_t count = 0;
  };

  void add(const Fault& fault, std::size_t launch);
  // By launch and place in the code.
  [[nodiscard]] std::vector<Entry> entries() const;

 private:
  struct Key {
    std::size_t launch;
    const void* pc;
    Rule rule;
    const void* memory;
    auto operator<=>(const Key&) const = default;
  };

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace metalbench::cpu
