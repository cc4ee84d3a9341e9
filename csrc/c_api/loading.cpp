#include "c_api/loading.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace metalbench::c_api {

namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "METALBENCH_PYTHON";
// Framework builds on macOS use another folder; some static builds also have a shared library.
constexpr const char* kAsked =
    "import os, sysconfig; get = sysconfig.get_config_var; "
    "folders = [get('PYTHONFRAMEWORKPREFIX'), get('LIBDIR')]; "
    "stem = 'libpython' + get('LDVERSION'); "
    "names = [get('INSTSONAME'), stem + '.so.1.0', stem + '.so', stem + '.dylib']; "
    "found = [os.path.join(f, n) for f in folders if f for n in names if n]; "
    "print(next((f for f in found if not f.endswith('.a') and os.path.exists(f)), ''))";

fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&table), &info) == 0) {
    throw std::runtime_error("the library does not find itself");
  }
  return fs::absolute(info.dli_fname).parent_path();
}

// Returns the Python of the environment of this library: PREFIX/lib/pythonX/site-packages/...
std::string interpreter(const fs::path& folder) {
  if (const char* named = std::getenv(kVariable); named != nullptr && *named != 0) return named;
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path()) {
    const fs::path found = above / "bin" / METALBENCH_PYTHON_NAME;
    if (above.filename() != "bin" && fs::exists(found)) return found;
  }
  return METALBENCH_PYTHON_NAME;
}

std::string quoted(const std::string& text) {
  std::string made = "'";
  for (const char each : text) made += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return made + "'";
}

std::string library_of(const std::string& python) {
  const std::string command = quoted(python) + " -I -c " + quoted(kAsked);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string found;
  std::array<char, 256> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) found += part.data();
  while (!found.empty() && found.back() == '\n') found.pop_back();
  if (found.empty()) {
    throw std::runtime_error(python + ": expected a Python with a shared library, got none; set " +
                             kVariable + " to one that metalbench is installed for");
  }
  return found;
}

void* opened(const fs::path& path, int flags) {
  void* found = dlopen(path.c_str(), flags);
  if (found == nullptr) throw std::runtime_error(dlerror());
  return found;
}

template <class Signature>
Signature* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("the plugin lacks ") + name);
  return reinterpret_cast<Signature*>(found);
}

const pjrt::Api& loaded() {
  const fs::path folder = own_folder();
  const std::string python = interpreter(folder);
  // The plugin and every extension module need the symbols of libpython.
  if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") == nullptr) {
    opened(library_of(python), RTLD_NOW | RTLD_GLOBAL);
  }
  void* plugin = opened(folder.parent_path() / "hlo" / "plugin" / METALBENCH_PLUGIN, RTLD_NOW);
  const char* wrong =
      symbol<const char*(const char*)>(plugin, "metalbench_start_python")(python.c_str());
  if (wrong != nullptr) throw std::runtime_error(python + ": Python does not start: " + wrong);
  return *symbol<const pjrt::Api*()>(plugin, "GetPjrtApi")();
}

}  // namespace

const pjrt::Api& table() {
  static const pjrt::Api& found = loaded();
  return found;
}

}  // namespace metalbench::c_api
