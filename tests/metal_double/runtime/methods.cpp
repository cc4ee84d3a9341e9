// Methods that can be asked for, and changed while other threads send messages: the new
// implementation holds for every message that is sent after the call has returned.
#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <ranges>
#include <unordered_map>

#include "runtime/classes.h"
#include "runtime/dispatch_table.h"
#include "runtime/image.h"

namespace metal_double::runtime {
namespace {

// Never destroyed: a Method is good for as long as the program runs.
struct Added {
  std::mutex mutex;  // of the implementations of all methods, too
  std::unordered_map<const Class*, std::deque<Method>> methods;
};

Added& added() {
  static Added& only = *new Added;
  return only;
}

template <class Methods>
Method* find_by_name(Methods& methods, Selector selector) {
  const auto found = std::ranges::find(methods, selector, &Method::name);
  return found == methods.end() ? nullptr : &*found;
}

Method* find_in(EntryList<Method>* list, Selector selector) {
  return list == nullptr ? nullptr : find_by_name(*list, selector);
}

// Without the inherited ones.
Method* own_method(const Class& type, Selector selector) {
  if (Method* const found = find_by_name(added().methods[&type], selector)) return found;
  for (const Category* category : categories_of(&type) | std::views::reverse) {
    if (Method* const found = find_in(methods_for(type, *category), selector)) return found;
  }
  return find_in(type.record->methods, selector);
}

Method* method_of(const Class* type, Selector selector) {
  Method* found = nullptr;
  for (; type != nullptr && found == nullptr; type = type->superclass) {
    found = own_method(*type, selector);
  }
  return found;
}

void set_everywhere(Method& method, Implementation implementation) {
  method.implementation = implementation;
  for (Class* const type : all_classes()) {
    for (Class* const one : {type, type->isa}) {
      if (method_of(one, method.name) == &method) set_method(*one, method.name, implementation);
    }
  }
}

void add(Class& type, Selector selector, Implementation implementation, const char* types) {
  Method& method = added().methods[&type].emplace_back(
      Method{selector, types == nullptr ? nullptr : strdup(types), nullptr});
  set_everywhere(method, implementation);
}

}  // namespace
}  // namespace metal_double::runtime

using namespace metal_double::runtime;

extern "C" {

Method* class_getInstanceMethod(Class* type, Selector selector) {
  const std::scoped_lock lock(added().mutex);
  return method_of(type, selector);
}

Method* class_getClassMethod(Class* type, Selector selector) {
  return type == nullptr ? nullptr : class_getInstanceMethod(type->isa, selector);
}

Implementation class_getMethodImplementation(Class* type, Selector selector) {
  return type == nullptr ? nullptr : find_method(type, selector);
}

Selector method_getName(const Method* method) { return method->name; }

const char* method_getTypeEncoding(const Method* method) { return method->types; }

Implementation method_getImplementation(const Method* method) {
  const std::scoped_lock lock(added().mutex);
  return method->implementation;
}

Implementation method_setImplementation(Method* method, Implementation implementation) {
  const std::scoped_lock lock(added().mutex);
  const Implementation before = method->implementation;
  set_everywhere(*method, implementation);
  return before;
}

void method_exchangeImplementations(Method* first, Method* second) {
  const std::scoped_lock lock(added().mutex);
  const Implementation before = first->implementation;
  set_everywhere(*first, second->implementation);
  set_everywhere(*second, before);
}

signed char class_addMethod(Class* type, Selector selector, Implementation implementation,
                            const char* types) {
  const std::scoped_lock lock(added().mutex);
  if (own_method(*type, selector) != nullptr) return 0;
  add(*type, selector, implementation, types);
  return 1;
}

Implementation class_replaceMethod(Class* type, Selector selector, Implementation implementation,
                                   const char* types) {
  const std::scoped_lock lock(added().mutex);
  Method* const own = own_method(*type, selector);
  if (own == nullptr) {
    add(*type, selector, implementation, types);
    return nullptr;
  }
  const Implementation before = own->implementation;
  set_everywhere(*own, implementation);
  return before;
}
}
