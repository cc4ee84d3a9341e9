// Errors of the plugin: thrown as Failure, and returned to callers as PJRT_Error.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "pjrt/abi.h"
#include "pjrt/live.h"

namespace metalbench::pjrt {

struct Error {
  Code code;
  std::string message;
};

class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string& message) : std::runtime_error(message), code(code) {}
  Code code;
};

// Returns the object of a caller's pointer. Throws Failure if the pointer is null, or the handle of
// a destroyed object. `what` names the kind of object, such as "a buffer".
template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) {
    throw Failure(Code::kInvalidArgument, std::string("expected ") + what + ", got null");
  }
  using Of = std::remove_const_t<T>;
  if constexpr (std::is_base_of_v<Live<Of>, Of>) {
    if (!Live<Of>::is(pointer)) {
      throw Failure(Code::kInvalidArgument,
                    std::string("expected ") + what + ", got a handle of none that lives");
    }
  }
  return *pointer;
}

// Does nothing for null.
template <class T>
void destroy_given(T* pointer, const char* what) {
  if (pointer != nullptr) delete &given(pointer, what);
}

// Returns a caller's bytes. Throws Failure if the pointer is null and the size is not 0.
[[nodiscard]] std::string_view given_bytes(const char* bytes, std::size_t size, const char* what);
// Throws Failure unless the caller's structure has all members that are read and written here. The
// ABI does not count padding after the last member.
void check_size(const Head* head, std::size_t size, std::size_t alignment);
// Returns the current exception as an error. That of Ctrl-C is raised when Python runs again.
[[nodiscard]] Error current_error();
// Returns the current exception as an error of `function`; the caller owns it.
[[nodiscard]] Error* caught(Function function) noexcept;

template <class Body>
struct ArgumentsOf;
template <class Arguments>
struct ArgumentsOf<void (*)(Arguments&)> {
  using type = Arguments;
};

// A function of the table: runs `body` on the caller's structure, and returns exceptions as errors.
template <Function function, auto body>
Error* call(void* raw) noexcept {
  using Arguments = typename ArgumentsOf<decltype(body)>::type;
  try {
    auto* arguments = static_cast<Arguments*>(raw);
    check_size(static_cast<const Head*>(raw), sizeof(Arguments), alignof(Arguments));
    body(*arguments);
    return nullptr;
  } catch (...) {
    return caught(function);
  }
}

template <Function function, auto body>
void define(Api& api) {
  api.functions[static_cast<int>(function)] = &call<function, body>;
}

void define_errors(Api& api);
void define_events(Api& api);
void define_clients(Api& api);
void define_devices(Api& api);
void define_executables(Api& api);
void define_execution(Api& api);
void define_buffers(Api& api);
void define_transfers(Api& api);

}  // namespace metalbench::pjrt
