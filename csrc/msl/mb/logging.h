// <metal_logging>: messages of kernels go to standard error, a line each.
#pragma once

#include "scalar.h"

namespace mb {

extern "C" int snprintf(char* text, unsigned long size, const char* format, ...);
extern "C" long write(int file, const void* text, unsigned long size);

// As printf takes it.
template <class T>
MB_FUNC auto printable(T value) {
  if constexpr (is_half_float<T>) return static_cast<double>(static_cast<float>(value));
  else return value;
}

// One write for each message: the lines of two threads do not mix.
template <class... A>
[[gnu::noinline]] void log_line(const char* format, A... a) {
  char text[1024];
  int size = snprintf(text, sizeof text - 1, format, a...);
  if (size < 0) return;
  if (size > int(sizeof text) - 2) size = sizeof text - 2;
  if (size == 0 || text[size - 1] != '\n') text[size++] = '\n';
  write(2, text, size);
}

}  // namespace mb

namespace metal {

enum os_log_type {
  os_log_type_default,
  os_log_type_debug,
  os_log_type_info,
  os_log_type_error,
  os_log_type_fault,
};

struct os_log {
  constexpr os_log(const char*, const char*) {}
#define MB_LOG(name, ...)                                           \
  template <class... A>                                             \
  MB_FUNC void name(__VA_ARGS__ const char* format, A... a) const { \
    mb::log_line(format, mb::printable(a)...);                      \
  }
  MB_LOG(log)
  MB_LOG(log_debug)
  MB_LOG(log_info)
  MB_LOG(log_error)
  MB_LOG(log_fault)
  MB_LOG(log_with_type, os_log_type, )
#undef MB_LOG
};

static constexpr os_log os_log_default("", "");

}  // namespace metal
