#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <span>

namespace metalbench::cpu {

// The memory of a device's buffers, those included that are gone: for reports of checked runs.
class Storages {
 public:
  struct Entry {
    std::span<const std::byte> bytes;
    // With a gap on both sides; arrays of the caller's lie next to each other.
    bool is_own;
    bool is_freed = false;
    std::span<const std::byte> taken;
  };

  // `taken` are the addresses that nothing else has meanwhile: its gaps are part of them.
  void add(std::span<const std::byte> bytes, std::span<const std::byte> taken, bool is_own);
  void remove(std::span<const std::byte> bytes);
  // The one that an address lies in.
  [[nodiscard]] std::optional<Entry> find(const std::byte* address) const;
  // Whether it all lies in memory of a buffer's own, its gaps included: to touch it does no harm.
  [[nodiscard]] bool holds(const std::byte* begin, const std::byte* end) const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> live_;
  std::deque<Entry> freed_;  // own ones whose addresses nothing has taken since, last first
};

}  // namespace metalbench::cpu
