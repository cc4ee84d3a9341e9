#include "executor/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/errors.h"

namespace metalbench::executor {
namespace {

using std::chrono::steady_clock;

constexpr auto between_polls = std::chrono::milliseconds(20);

#ifdef MSG_NOSIGNAL
constexpr int quietly = MSG_NOSIGNAL | MSG_DONTWAIT;
#else
constexpr int quietly = MSG_DONTWAIT;  // SO_NOSIGPIPE is set
#endif

union Control {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::optional<int> descriptor_of(msghdr& header) {
  std::optional<int> found;
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(each), sizeof descriptor);
    found = descriptor;
  }
  return found;
}

}  // namespace

Channel::Channel(int socket) : socket_(socket) {
#ifdef SO_NOSIGPIPE
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
}

Channel::~Channel() { close(socket_); }

void Channel::wait_for(short event, const WaitLimits& limits) const {
  while (true) {
    auto slice = std::chrono::nanoseconds(between_polls);
    const bool asks = limits.deadline || limits.interrupted;
    pollfd watched{socket_, event, 0};
    const int milliseconds =
        asks ? static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(slice).count()) : -1;
    // The following read or write reports errors and hang-ups.
    if (poll(&watched, 1, milliseconds) > 0) return;
    if (limits.interrupted && limits.interrupted()) throw Interrupted();
    if (limits.deadline && steady_clock::now() > *limits.deadline) throw ChannelTimeout();
  }
}

void Channel::send(const Message& message, const WaitLimits& limits,
                   std::optional<int> descriptor) {
  auto size = std::uint64_t{message.size()};
  Message framed(sizeof size);
  std::memcpy(framed.data(), &size, sizeof size);
  framed.insert(framed.end(), message.begin(), message.end());
  std::span<std::byte> rest = framed;
  Control control{};
  while (!rest.empty()) {
    iovec piece{rest.data(), rest.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (descriptor) {  // sent with the first byte
      header.msg_control = &control;
      header.msg_controllen = sizeof control;
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &*descriptor, sizeof(int));
    }
    const ssize_t sent = sendmsg(socket_, &header, quietly);
    if (sent < 0) {
      if (!would_block()) throw ChannelClosed();
      wait_for(POLLOUT, limits);
      continue;
    }
    descriptor.reset();
    rest = rest.subspan(static_cast<std::size_t>(sent));
  }
}

void Channel::read(std::span<std::byte> bytes, const WaitLimits& limits,
                   std::optional<int>* descriptor) {
  while (!bytes.empty()) {
    wait_for(POLLIN, limits);
    iovec piece{bytes.data(), bytes.size()};
    Control control{};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (descriptor != nullptr) {
      header.msg_control = &control;
      header.msg_controllen = sizeof control;
    }
    const ssize_t got = recvmsg(socket_, &header, MSG_DONTWAIT);
    if (got < 0 && would_block()) continue;
    if (got <= 0) throw ChannelClosed();
    if (descriptor != nullptr) {
      if (const auto found = descriptor_of(header)) *descriptor = found;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

Channel::Received Channel::receive(std::size_t most_bytes, const WaitLimits& limits,
                                   bool with_descriptor) {
  Received received;
  std::uint64_t size = 0;
  read(std::as_writable_bytes(std::span(&size, 1)), limits,
       with_descriptor ? &received.descriptor : nullptr);
  if (size > most_bytes) {
    throw MalformedMessage("expected " + std::to_string(most_bytes) + " bytes at most, " +
                           std::to_string(size) + " were announced");
  }
  received.message.resize(size);
  read(received.message, limits, nullptr);
  return received;
}

}  // namespace metalbench::executor
