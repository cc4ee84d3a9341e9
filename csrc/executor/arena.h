// Memory shared by a judge and its executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/buffer.h"

namespace metalbench::executor {

// Gap between two buffers, as on a cpu device in the same process.
inline constexpr std::size_t gap_bytes = 16 * 1024;

// An anonymous file, mapped. It takes no memory before the first write.
class Arena {
 public:
  // Create an arena. Throws OutOfMemoryError.
  explicit Arena(std::size_t size);
  // Map another process's arena and close its descriptor.
  Arena(std::uint64_t number, std::size_t size, int descriptor);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::byte* begin() const { return begin_; }
  // Take `size` bytes with gaps around them; addresses are never reused. Null if the arena is full.
  [[nodiscard]] std::byte* take(std::size_t size);
  // Release the memory of bytes that no process reads any more.
  void forget(std::byte* begin, std::size_t size) const;

 private:
  void map();

  std::uint64_t number_;
  std::size_t size_;
  std::size_t taken_ = 0;
  int descriptor_ = -1;
  std::byte* begin_ = nullptr;
};

// Bytes of an arena, with their marks of a checked run in another arena.
class SharedStorage final : public Storage {
 public:
  SharedStorage(std::shared_ptr<class Arenas> arenas, std::shared_ptr<Arena> arena,
                std::byte* begin, std::size_t size);
  ~SharedStorage() override;
  [[nodiscard]] std::span<std::byte> bytes() override { return {begin_, size_}; }
  [[nodiscard]] std::uint64_t offset() const {
    return static_cast<std::uint64_t>(begin_ - arena_->begin());
  }
  [[nodiscard]] const std::shared_ptr<Arena>& arena() const { return arena_; }
  // Return the storage of the marks; null without marks.
  [[nodiscard]] const std::shared_ptr<SharedStorage>& marks() const { return marks_; }

 protected:
  [[nodiscard]] std::shared_ptr<Unwritten[]> make_marks(std::size_t size) override;

 private:
  std::shared_ptr<Arenas> arenas_;
  std::shared_ptr<Arena> arena_;
  std::byte* begin_;
  std::size_t size_;
  std::shared_ptr<SharedStorage> marks_;
};

// Allocates storage: small buffers share arenas, each large buffer has a separate one.
class Arenas : public std::enable_shared_from_this<Arenas> {
 public:
  [[nodiscard]] std::shared_ptr<SharedStorage> allocate(std::size_t size);

 private:
  std::mutex mutex_;
  std::shared_ptr<Arena> small_;
};

}  // namespace metalbench::executor
