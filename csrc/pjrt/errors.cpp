#include "pjrt/errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdio>
#include <utility>

#include "bindings/deferred_exception.h"
#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

namespace nb = nanobind;

namespace {

// Python maps its exceptions to status codes.
Error of_python(const nb::python_error& error) {
  try {
    const WithGil held;
    const nb::object found = nb::module_::import_(kRuntime).attr("failure")(error.value());
    const auto [code, message] = nb::cast<std::pair<int, std::string>>(found);
    // A caller in Python sees this exception only. No Python code may run here after it is
    // scheduled, because the exception would be raised in that code.
    if (must_be_deferred(error)) raise_later(error);
    return {static_cast<Code>(code), message};
  } catch (const Failure& failure) {
    return {failure.code, failure.what()};
  } catch (...) {
    return {Code::kInternal, error.what()};
  }
}

// These three functions cannot return an error.
Error* destroy(void* raw) noexcept {
  auto* arguments = static_cast<Only<Error>*>(raw);
  if (arguments != nullptr) delete arguments->of;
  return nullptr;
}

Error* message(void* raw) noexcept {
  auto* arguments = static_cast<Text<const Error>*>(raw);
  if (arguments == nullptr) return nullptr;
  const Error* error = arguments->of;
  arguments->text = error == nullptr ? "" : error->message.c_str();
  arguments->size = error == nullptr ? 0 : error->message.size();
  return nullptr;
}

void code(Ask<const Error, Code>& arguments) {
  arguments.out = given(arguments.of, "an error").code;
}

}  // namespace

Error current_error() {
  try {
    throw;
  } catch (const Failure& failure) {
    return {failure.code, failure.what()};
  } catch (const nb::python_error& error) {
    return of_python(error);
  } catch (const std::exception& error) {
    return {Code::kInternal, error.what()};
  }
}

std::string_view given_bytes(const char* bytes, std::size_t size, const char* what) {
  if (size > 0) given(bytes, what);
  return {size > 0 ? bytes : "", size};
}

void check_size(const Head* head, std::size_t size, std::size_t alignment) {
  const std::size_t got = given(head, "a structure of arguments").size;
  if (got + alignment <= size) {
    throw Failure(Code::kInvalidArgument, "expected a struct_size of " + std::to_string(size) +
                                              " bytes, got " + std::to_string(got));
  }
}

Error* caught(Function function) noexcept {
  try {
    Error found = current_error();
    // Messages of Python begin with the function or operation already.
    if (!found.message.starts_with("[")) {
      found.message = std::string("[") + name_of(function) + "] " + found.message;
    }
    return new Error(std::move(found));
  } catch (...) {
    // Without memory for the message, return an error without one.
    static Error none{Code::kInternal, ""};
    std::fputs("metalbench: out of memory for the message of an error\n", stderr);
    return new (std::nothrow) Error(none.code, {});
  }
}

void define_errors(Api& api) {
  api.functions[static_cast<int>(Function::Error_Destroy)] = &destroy;
  api.functions[static_cast<int>(Function::Error_Message)] = &message;
  define<Function::Error_GetCode, &code>(api);
}

}  // namespace metalbench::pjrt
