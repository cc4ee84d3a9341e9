#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cpu/fault.h"

namespace metalbench::cpu {

// Faults of a run that continues after faults. Shared by all workers.
class Findings {
 public:
  struct Entry {
    Fault first;  // the first in grid order
    std::size_t launch = 0;
    std::uint64_t count = 0;
  };

  // Summary of unlisted places: all faults of one rule in one launch that have no entry.
  struct Rest {
    std::size_t launch = 0;
    Rule rule = Rule::fault;
    std::uint64_t places = 0;
    std::uint64_t count = 0;
  };

  void add(const Fault& fault, std::size_t launch);
  // Sorted by launch and place in the code.
  [[nodiscard]] std::vector<Entry> entries() const;
  [[nodiscard]] std::vector<Rest> rests() const;

 private:
  struct Key {
    std::size_t launch;
    const void* pc;
    Rule rule;
    const void* memory;
    auto operator<=>(const Key&) const = default;
  };

  struct Unlisted {
    std::set<Key> places;
    std::uint64_t count = 0;
  };
  using Kind = std::pair<std::size_t, Rule>;  // launch and rule

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::map<Kind, std::size_t> listed_;
  std::map<Kind, Unlisted> unlisted_;
};

}  // namespace metalbench::cpu
