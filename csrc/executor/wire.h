// Messages between a judge and an executor: numbers in memory order, texts with their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace metalbench::executor {

using Message = std::vector<std::byte>;

// The received bytes are not a valid message.
class MalformedMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Request : std::uint32_t { load, shape, map, prepare, run, check, ping, seal, drop };

enum class Answer : std::uint32_t {
  done,
  kernel_fault,
  time_limit,
  dispatch_error,
  unsupported,
  out_of_memory,
  machine_error,
  error
};
inline constexpr Answer last_answer = Answer::error;

class Writer {
 public:
  explicit Writer(Request kind) { put(kind); }
  explicit Writer(Answer kind) { put(kind); }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    append(&value, sizeof value);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    put(std::uint64_t{bytes.size()});
    append(bytes.data(), bytes.size());
  }
  void put_text(const std::string& text) { put_bytes(std::as_bytes(std::span(text))); }

  [[nodiscard]] const Message& message() const { return bytes_; }

 private:
  // One function for all types: inserting into a vector is much code for each.
  void append(const void* from, std::size_t size) {
    if (size == 0) return;
    const std::size_t end = bytes_.size();
    bytes_.resize(end + size);
    std::memcpy(bytes_.data() + end, from, size);
  }

  Message bytes_;
};

// Throws MalformedMessage if a message is shorter than the data read from it.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // For numbers only, where all bit patterns are valid. The caller checks their meaning.
  template <typename T>
    requires std::is_arithmetic_v<T> && (!std::is_same_v<T, bool>)
  [[nodiscard]] T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> get_bytes() { return take(get<std::uint64_t>()); }
  [[nodiscard]] std::string get_text() {
    const auto bytes = get_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Throw MalformedMessage unless the message is at its end.
  void expect_end() const {
    if (!bytes_.empty()) throw MalformedMessage(std::to_string(bytes_.size()) + " bytes too many");
  }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > bytes_.size()) {
      throw MalformedMessage(std::to_string(bytes_.size()) + " bytes where " +
                             std::to_string(size) + " were announced");
    }
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace metalbench::executor
