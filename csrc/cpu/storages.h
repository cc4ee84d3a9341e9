#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <span>

namespace metalbench::cpu {

// Memory of all buffers of a device, including freed ones, for reports of checked runs.
class Storages {
 public:
  struct Entry {
    std::span<const std::byte> bytes;
    // Own memory has a gap on both sides; the caller's arrays may be adjacent.
    bool is_own;
    bool is_freed = false;
    std::span<const std::byte> taken;
  };

  // `taken` is the address range that belongs to the entry alone: the bytes with their gaps.
  void add(std::span<const std::byte> bytes, std::span<const std::byte> taken, bool is_own);
  void remove(std::span<const std::byte> bytes);
  // Return the entry that contains an address.
  [[nodiscard]] std::optional<Entry> find(const std::byte* address) const;
  // Return whether the range lies in one own buffer with its gaps: an access there is harmless.
  [[nodiscard]] bool holds(const std::byte* begin, const std::byte* end) const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> live_;
  std::deque<Entry> freed_;  // freed own buffers whose addresses are not reused; the latest first
};

}  // namespace metalbench::cpu
