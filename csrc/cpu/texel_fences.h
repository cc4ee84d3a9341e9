// Checks of read_write textures: a thread sees its own writes only after a fence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

namespace metalbench::cpu {

// State of one threadgroup at a time.
class TexelFences {
 public:
  void start() {
    writes_.clear();
    fences_.clear();
  }
  // Record a fence for the thread's writes to the texture that begins at this address; null: to all
  // textures.
  void fence(std::uint32_t thread, const std::byte* texture) {
    if (!writes_.empty()) fences_[{thread, texture}] = ++now_;
  }
  void write(const std::byte* texel, std::uint32_t thread, const void* pc) {
    writes_[texel] = {pc, now_, thread};
  }
  // Return the program counter of the thread's write that is not visible to it yet; null without
  // one, or if another thread has written since.
  [[nodiscard]] const void* unseen(const std::byte* texel, std::uint32_t thread,
                                   const std::byte* texture) const {
    const auto found = writes_.find(texel);
    if (found == writes_.end() || found->second.thread != thread) return nullptr;
    const std::uint64_t time = found->second.time;
    const bool is_seen = fenced_at(thread, texture) > time || fenced_at(thread, nullptr) > time;
    return is_seen ? nullptr : found->second.pc;
  }

 private:
  struct Write {
    const void* pc;
    std::uint64_t time;
    std::uint32_t thread;
  };

  [[nodiscard]] std::uint64_t fenced_at(std::uint32_t thread, const std::byte* texture) const {
    const auto found = fences_.find({thread, texture});
    return found == fences_.end() ? 0 : found->second;
  }

  std::unordered_map<const std::byte*, Write> writes_;
  std::map<std::pair<std::uint32_t, const std::byte*>, std::uint64_t> fences_;
  std::uint64_t now_ = 0;
};

}  // namespace metalbench::cpu
