#include "runtime/selectors.h"

#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

namespace metal_double::runtime {
namespace {

constexpr std::align_val_t selector_alignment{16};

struct Names {
  std::mutex mutex;
  std::unordered_map<std::string_view, Selector> selectors;
};

Names& names() {
  static Names& only = *new Names;
  return only;
}

Selector stored(std::string_view name) {
  char* const text = static_cast<char*>(::operator new(name.size() + 1, selector_alignment));
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '\0';
  return text;
}

}  // namespace

Selector unique_selector(std::string_view name) {
  const std::scoped_lock lock(names().mutex);
  const auto found = names().selectors.find(name);
  if (found != names().selectors.end()) return found->second;
  const Selector selector = stored(name);
  names().selectors.emplace(std::string_view(selector, name.size()), selector);
  return selector;
}

}  // namespace metal_double::runtime

extern "C" metal_double::runtime::Selector sel_registerName(const char* name) {
  return metal_double::runtime::unique_selector(name);
}

extern "C" const char* sel_getName(metal_double::runtime::Selector selector) { return selector; }
