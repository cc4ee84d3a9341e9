// The plugin's library: `GetPjrtApi` for jaxlib, and a Python module so that its path is known.
#include <nanobind/nanobind.h>

#include <utility>

#include "pjrt/errors.h"
#include "pjrt/python_reference.h"

namespace metalbench::pjrt {

namespace {

bool module_is_ready = false;

template <Function function>
Error* lacking(void*) noexcept {
  try {
    throw Failure(Code::kUnimplemented, "the metalbench plugin does not have this function");
  } catch (...) {
    return caught(function);
  }
}

// Calling a null entry would crash the process, so every entry has a function.
template <int... numbers>
void fill(Api& api, std::integer_sequence<int, numbers...>) {
  ((api.functions[numbers] = &lacking<static_cast<Function>(numbers)>), ...);
}

Api made() {
  Api api{};
  api.head.size = sizeof(Api);
  api.version = {{sizeof(Version), nullptr}, kMajor, kMinor};
  fill(api, std::make_integer_sequence<int, static_cast<int>(Function::kCount)>());
  for (auto* define :
       {&define_errors, &define_events, &define_clients, &define_devices, &define_executables,
        &define_execution, &define_buffers, &define_transfers}) {
    define(api);
  }
  return api;
}

}  // namespace

bool is_imported() { return module_is_ready; }

void set_imported() { module_is_ready = true; }

const char* name_of(Function function) {
#define METALBENCH_PJRT_NAME(name) "PJRT_" #name,
  static constexpr const char* names[] = {METALBENCH_PJRT_FUNCTIONS(METALBENCH_PJRT_NAME)};
#undef METALBENCH_PJRT_NAME
  return names[static_cast<int>(function)];
}

}  // namespace metalbench::pjrt

extern "C" NB_EXPORT const metalbench::pjrt::Api* GetPjrtApi() {
  static const metalbench::pjrt::Api api = metalbench::pjrt::made();
  return &api;
}

NB_MODULE(_pjrt, module) {
  nanobind::set_leak_warnings(false);
  module.doc() = "A plugin for JAX over PJRT's C API; `__file__` is the library.";
  nanobind::list names;
  for (int number = 0; number < static_cast<int>(metalbench::pjrt::Function::kCount); ++number) {
    names.append(metalbench::pjrt::name_of(static_cast<metalbench::pjrt::Function>(number)));
  }
  // In the order of the table.
  module.attr("functions") = names;
  nanobind::module_::import_("atexit").attr("register")(
      nanobind::cpp_function(&metalbench::pjrt::end_other_threads));
  metalbench::pjrt::set_imported();
}
