#include "runtime/dispatch_table.h"

#include <bit>
#include <new>

namespace metal_double::runtime {
namespace {

constexpr std::size_t header_bytes = offsetof(DispatchTable, entries);

DispatchEntry& entry_at(DispatchTable& table, std::uintptr_t offset) {
  return table.entries[offset / sizeof(DispatchEntry)];
}

// The entry of `selector`, or the empty one where it would be.
DispatchEntry& slot(DispatchTable& table, Selector selector) {
  std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(selector) & table.mask;
  while (entry_at(table, offset).selector != nullptr &&
         entry_at(table, offset).selector != selector) {
    offset = (offset + sizeof(DispatchEntry)) & table.mask;
  }
  return entry_at(table, offset);
}

}  // namespace

DispatchTable* make_dispatch_table(const Methods& methods) {
  // At most half full, so that there is always an empty entry to end a search.
  const std::size_t capacity = std::bit_ceil(2 * methods.size() + 2);
  const std::size_t bytes = header_bytes + capacity * sizeof(DispatchEntry);
  auto* const table = static_cast<DispatchTable*>(::operator new(bytes));
  table->mask = (capacity - 1) * sizeof(DispatchEntry);
  for (std::size_t i = 0; i < capacity; ++i) new (&table->entries[i]) DispatchEntry{};
  for (const auto& [selector, implementation] : methods) {
    DispatchEntry& entry = slot(*table, selector);
    entry.selector = selector;
    entry.implementation = implementation;
  }
  return table;
}

void set_method(Class& type, Selector selector, Implementation implementation) {
  DispatchTable& table = *type.table;
  DispatchEntry& known = slot(table, selector);
  if (known.selector != nullptr) {
    known.implementation = implementation;
    return;
  }
  Methods methods{{selector, implementation}};
  for (std::size_t i = 0; i <= table.mask / sizeof(DispatchEntry); ++i) {
    const DispatchEntry& entry = table.entries[i];
    if (entry.selector != nullptr) methods[entry.selector] = entry.implementation;
  }
  type.table = make_dispatch_table(methods);
}

Implementation find_method(const Class* type, Selector selector) {
  return slot(*type->table, selector).implementation;
}

}  // namespace metal_double::runtime
