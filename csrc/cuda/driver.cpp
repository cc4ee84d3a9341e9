#include "cuda/driver.h"

#include <dlfcn.h>

namespace metalbench::cuda {
namespace {

constexpr const char* library_name = "libcuda.so.1";
constexpr const char* instead = "; use the `cpu` device";

DriverLookup look() {
  // Never closed: the driver's own threads run in it.
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return {nullptr, std::string("NVIDIA's driver was not found: ") + dlerror() + instead};
  }
  auto driver = std::make_shared<Driver>();
  std::string missing;
  const auto find = [&](const char* name) {
    void* function = dlsym(library, name);
    if (function == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
    return function;
  };
#define MB_CUDA_FIND(name, ...) \
  driver->name = reinterpret_cast<decltype(driver->name)>(find(#name));
  MB_CUDA_FUNCTIONS(MB_CUDA_FIND)
#undef MB_CUDA_FIND
  if (!missing.empty()) {
    return {nullptr, "NVIDIA's driver is too old: it has no " + missing +
                         "; install one of CUDA 12 or later"};
  }
  if (const Result started = driver->cuInit(0); started != result::success) {
    return {nullptr, "NVIDIA's driver does not start: " + driver->text(started) + instead};
  }
  int count = 0;
  if (const Result counted = driver->cuDeviceGetCount(&count); counted != result::success) {
    return {nullptr, "NVIDIA's driver counts no GPUs: " + driver->text(counted) + instead};
  }
  if (count == 0) return {nullptr, std::string("NVIDIA's driver sees no GPU") + instead};
  return {driver, ""};
}

}  // namespace

std::string Driver::text(Result result) const {
  const char* name = nullptr;
  const char* described = nullptr;
  if (cuGetErrorName(result, &name) != result::success || name == nullptr) {
    return "error " + std::to_string(result);
  }
  (void)cuGetErrorString(result, &described);
  return described == nullptr ? name : std::string(name) + ": " + described;
}

const DriverLookup& find_driver() {
  static const DriverLookup found = look();
  return found;
}

}  // namespace metalbench::cuda
