// Memory that a judge and its executors share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/buffer.h"

namespace metalbench::executor {

// What lies between two buffers, as between those of a cpu device of this process.
inline constexpr std::size_t gap_bytes = 16 * 1024;

// A file without a name, mapped. It takes no memory where nothing was written.
class Arena {
 public:
  // Makes a new one. Throws OutOfMemoryError.
  explicit Arena(std::size_t size);
  // Maps another process's, whose descriptor it closes.
  Arena(std::uint64_t number, std::size_t size, int descriptor);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::byte* begin() const { return begin_; }
  // Where so many bytes may lie, with gaps around; nothing lies there ever again. Null where there
  // is no room.
  [[nodiscard]] std::byte* take(std::size_t size);
  // Gives the memory of bytes back that nobody reads any more.
  void forget(std::byte* begin, std::size_t size) const;

 private:
  void map();

  std::uint64_t number_;
  std::size_t size_;
  std::size_t taken_ = 0;
  int descriptor_ = -1;
  std::byte* begin_ = nullptr;
};

// Bytes of an arena, and what a checked run knows of them in another one.
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
  // Where its marks lie; null where it has none.
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

// Hands out storage: small ones side by side, large ones in an arena of their own.
class Arenas : public std::enable_shared_from_this<Arenas> {
 public:
  [[nodiscard]] std::shared_ptr<SharedStorage> allocate(std::size_t size);

 private:
  std::mutex mutex_;
  std::shared_ptr<Arena> small_;
};

}  // namespace metalbench::executor
