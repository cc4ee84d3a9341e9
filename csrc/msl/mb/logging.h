// <metal_logging>: the messages of kernels go nowhere, as they do on a GPU whose command queue has
// no log state.
#pragma once

#include "scalar.h"

namespace metal {

enum os_log_type { os_log_type_default, os_log_type_debug, os_log_type_info, os_log_type_error, os_log_type_fault };

struct os_log {
  constexpr os_log(const char*, const char*) {}
  template <class... A>
  MB_FUNC void log(const char*, A...) const {}
  template <class... A>
  MB_FUNC void log_with_type(os_log_type, const char*, A...) const {}
  template <class... A>
  MB_FUNC void log_debug(const char*, A...) const {}
  template <class... A>
  MB_FUNC void log_info(const char*, A...) const {}
  template <class... A>
  MB_FUNC void log_error(const char*, A...) const {}
  template <class... A>
  MB_FUNC void log_fault(const char*, A...) const {}
};

static constexpr os_log os_log_default("", "");

}  // namespace metal
