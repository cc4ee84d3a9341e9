// One end of a stream socket between a judge and an executor.
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/types.h"
#include "executor/wire.h"

namespace metalbench::executor {

// The process at the other end has ended.
class ChannelClosed : public std::runtime_error {
 public:
  ChannelClosed() : std::runtime_error("the other end of the channel is gone") {}
};

// The other end did not read or send a message in time.
class ChannelTimeout : public std::runtime_error {
 public:
  ChannelTimeout() : std::runtime_error("the other end of the channel is silent") {}
};

// Time limit for the other end; unlimited without a deadline.
struct WaitLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  InterruptPoll interrupted;  // may be empty
};

// Return a deadline at this time from now.
[[nodiscard]] inline WaitLimits until(std::chrono::nanoseconds time,
                                      InterruptPoll interrupted = {}) {
  return {std::chrono::steady_clock::now() + time, std::move(interrupted)};
}

class Channel {
 public:
  // Take ownership of the socket.
  explicit Channel(int socket);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Throws ChannelClosed, ChannelTimeout, and Interrupted if the user requests it.
  void send(const Message& message, const WaitLimits& limits = {},
            std::optional<int> descriptor = {});

  struct Received {
    Message message;
    std::optional<int> descriptor;  // owned by the receiver
  };
  // Throws the errors of send, and MalformedMessage for more than `most_bytes`. Descriptors are
  // received only on request.
  [[nodiscard]] Received receive(std::size_t most_bytes, const WaitLimits& limits = {},
                                 bool with_descriptor = false);

 private:
  void wait_for(short event, const WaitLimits& limits) const;
  void read(std::span<std::byte> bytes, const WaitLimits& limits, std::optional<int>* descriptor);

  int socket_;
};

}  // namespace metalbench::executor
