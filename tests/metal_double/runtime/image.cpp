#include "runtime/image.h"

#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>

#include "runtime/classes.h"
#include "runtime/dispatch_table.h"
#include "runtime/selectors.h"

using namespace metal_double::runtime;

// The linker names the ends of the sections; one that the image lacks is null.
#define SECTION(type, name)                                                  \
  extern "C" [[gnu::weak, gnu::visibility("hidden")]] type __start_##name[]; \
  extern "C" [[gnu::weak, gnu::visibility("hidden")]] type __stop_##name[]
SECTION(Selector, objc_selrefs);
SECTION(Class*, objc_classlist);
SECTION(Category*, objc_catlist);
SECTION(Protocol*, objc_protolist);
SECTION(Class*, objc_nlclslist);
#undef SECTION

// What every class starts with: nothing is found in it.
extern "C" [[gnu::visibility("hidden")]] DispatchTable _objc_empty_cache;
DispatchTable _objc_empty_cache = {};

namespace metal_double::runtime {
namespace {

struct Image {
  std::vector<Class*> classes;
  std::unordered_map<const Class*, std::vector<const Category*>> categories;
  std::unordered_map<const Class*, Methods> methods;  // while loading; with the inherited ones
};

Image& image() {
  static Image& only = *new Image;
  return only;
}

template <class Entry>
std::span<Entry> section(Entry* begin, Entry* end) {
  return {begin, end};
}

void add(Methods& methods, EntryList<Method>* list) {
  if (list == nullptr) return;
  for (Method& method : *list) {
    method.name = unique_selector(method.name);
    methods[method.name] = method.implementation;
  }
}

Implementation own_method(const ClassRecord& record, std::string_view name) {
  if (record.methods == nullptr) return nullptr;
  for (const Method& method : *record.methods) {
    if (method.name == name) return method.implementation;
  }
  return nullptr;
}

// Instance variables begin where those of the superclass end, which the compiler may not know.
void slide(const Class& type) {
  if (type.superclass == nullptr) return;
  ClassRecord& record = *type.record;
  const std::uint32_t start = type.superclass->record->instance_size;
  if (record.instance_start >= start) return;
  constexpr std::uint32_t alignment = 16;
  const std::uint32_t by = (start - record.instance_start + alignment - 1) / alignment * alignment;
  if (record.ivars != nullptr) {
    for (Ivar& ivar : *record.ivars) {
      if (ivar.offset != nullptr) *ivar.offset += static_cast<IvarOffset>(by);
    }
  }
  record.instance_start += by;
  record.instance_size += by;
}

Storage storage_of(const ClassRecord& record) {
  const std::string_view name = record.name;
  if ((record.flags & is_metaclass) != 0 || name == "NSConstantString" || name == "Protocol") {
    return Storage::constant;
  }
  return name.ends_with("Block") && name.starts_with("__NS") ? Storage::block : Storage::heap;
}

void make_ready(Class& type) {
  if (type.info != nullptr) return;
  type.info = new ClassInfo;
  Methods& methods = image().methods[&type];
  if (type.superclass != nullptr) {
    make_ready(*type.superclass);
    methods = image().methods.at(type.superclass);
  }
  const bool is_meta = (type.record->flags & is_metaclass) != 0;
  if (!is_meta) slide(type);
  add(methods, type.record->methods);
  for (const Category* category : categories_of(&type)) add(methods, methods_for(type, *category));
  type.info->storage = storage_of(*type.record);
  type.info->construct = own_method(*type.record, ".cxx_construct");
  type.info->destruct = own_method(*type.record, ".cxx_destruct");
  type.table = make_dispatch_table(methods);
}

void collect() {
  for (Class* type : section(__start_objc_classlist, __stop_objc_classlist)) {
    image().classes.push_back(type);
  }
  for (const Category* category : section(__start_objc_catlist, __stop_objc_catlist)) {
    image().categories[category->extended].push_back(category);
    image().categories[category->extended->isa].push_back(category);
  }
}

[[gnu::constructor(101)]] void load() {
  for (Selector& selector : section(__start_objc_selrefs, __stop_objc_selrefs)) {
    selector = unique_selector(selector);
  }
  collect();
  for (Class* type : image().classes) {
    make_ready(*type);
    make_ready(*type->isa);
  }
  image().methods.clear();
  Class* const protocols = find_class("Protocol");
  for (Protocol* protocol : section(__start_objc_protolist, __stop_objc_protolist)) {
    protocol->isa = protocols;
  }
  for (Class* type : section(__start_objc_nlclslist, __stop_objc_nlclslist)) {
    using Load = void (*)(Class*, Selector);
    const Selector selector = unique_selector("load");
    reinterpret_cast<Load>(own_method(*type->isa->record, "load"))(type, selector);
  }
}

}  // namespace

const std::vector<Class*>& all_classes() { return image().classes; }

EntryList<Method>* methods_for(const Class& type, const Category& category) {
  return category.extended == &type ? category.instance_methods : category.class_methods;
}

const std::vector<const Category*>& categories_of(const Class* type) {
  static const std::vector<const Category*>& none = *new std::vector<const Category*>;
  const auto found = image().categories.find(type);
  return found == image().categories.end() ? none : found->second;
}

}  // namespace metal_double::runtime
