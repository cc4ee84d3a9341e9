// <metal_logging>: messages of kernels are lines on standard error, where it exists.
#pragma once

#include "sync.h"

namespace mb {

// Convert an argument for printf.
template <class T>
MB_FUNC auto printable(T value) {
  if constexpr (is_half_float<T>) return static_cast<double>(static_cast<float>(value));
  else return value;
}

template <class T>
inline constexpr bool is_several = element_of<T>::count > 1;
template <class T, int N>
inline constexpr bool is_several<metal::packed_vec<T, N>> = true;

}  // namespace mb

#if MB_GPU
#include "gpu/log_line.h"
#else
#include "cpu/log_line.h"
#endif

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
    mb::log_line(format, a...);                                     \
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
