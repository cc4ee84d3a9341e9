#include "runtime/classes.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/dispatch_table.h"
#include "runtime/image.h"

namespace metal_double::runtime {
namespace {

bool names(const ProtocolList* list, const char* name) {
  if (list == nullptr) return false;
  for (std::uintptr_t i = 0; i < list->count; ++i) {
    const Protocol& protocol = *list->entries[i];
    if (std::strcmp(protocol.name, name) == 0 || names(protocol.inherited, name)) return true;
  }
  return false;
}

}  // namespace

Class* find_class(std::string_view name) {
  for (Class* const type : all_classes()) {
    if (type->record->name == name) return type;
  }
  return nullptr;
}

bool is_kind_of(const Class* type, const Class* ancestor) {
  while (type != nullptr && type != ancestor) type = type->superclass;
  return type != nullptr;
}

bool conforms(const Class* type, const Protocol* protocol) {
  for (; type != nullptr; type = type->superclass) {
    if (names(type->record->protocols, protocol->name)) return true;
    for (const Category* category : categories_of(type)) {
      if (names(category->protocols, protocol->name)) return true;
    }
  }
  return false;
}

std::string method_name(const Class* type, Selector selector) {
  const char kind = (type->record->flags & is_metaclass) != 0 ? '+' : '-';
  return std::string(1, kind) + "[" + type->record->name + " " + selector + "]";
}

}  // namespace metal_double::runtime

using namespace metal_double::runtime;

// Where objc_msgSend ends when the class has no such method.
extern "C" [[noreturn, gnu::used, gnu::visibility("hidden")]] void metal_double_unrecognized(
    Object* self, Selector selector) {
  std::fprintf(stderr, "%s: unrecognized selector sent to %p\n",
               method_name(self->isa, selector).c_str(), static_cast<void*>(self));
  std::abort();
}

extern "C" {
const char* class_getName(Class* type) { return type == nullptr ? "nil" : type->record->name; }
Class* class_getSuperclass(Class* type) { return type == nullptr ? nullptr : type->superclass; }
std::size_t class_getInstanceSize(Class* type) {
  return type == nullptr ? 0 : type->record->instance_size;
}
Class* object_getClass(Object* object) { return object == nullptr ? nullptr : object->isa; }
Class* objc_getClass(const char* name) { return find_class(name); }
Class* objc_lookUpClass(const char* name) { return find_class(name); }

Object* objc_opt_self(Object* object) { return object; }
Class* objc_opt_class(Object* object) {
  if (object == nullptr) return nullptr;
  const bool is_class = (object->isa->record->flags & is_metaclass) != 0;
  return is_class ? reinterpret_cast<Class*>(object) : object->isa;
}
signed char objc_opt_isKindOfClass(Object* object, Class* type) {
  return object != nullptr && is_kind_of(object->isa, type);
}
signed char objc_opt_respondsToSelector(Object* object, Selector selector) {
  return object != nullptr && find_method(object->isa, selector) != nullptr;
}

void objc_enumerationMutation(Object* collection) {
  std::fprintf(stderr, "%s %p was changed while it was enumerated\n",
               class_getName(collection->isa), static_cast<void*>(collection));
  std::abort();
}
}
