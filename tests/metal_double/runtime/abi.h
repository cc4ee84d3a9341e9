// What the compiler writes into the image for -fobjc-runtime=macosx, and what the runtime keeps
// about it. In a class, the fields `cache` and `vtable` belong to the runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(hidden)

namespace metal_double::runtime {

struct Object;
using Selector = const char*;  // unique: equal names have equal addresses, multiples of 16
using Implementation = void (*)();

struct Method {
  const char* name;  // a Selector once the image is loaded
  const char* types;
  Implementation implementation;
};

template <class Entry>
struct EntryList {
  std::uint32_t entry_size;
  std::uint32_t count;
  Entry entries[1];

  Entry* begin() { return entries; }
  Entry* end() { return entries + count; }
};

// An offset is 64 bits wide on x86-64 and 32 on aarch64.
#ifdef __aarch64__
using IvarOffset = std::int32_t;
#else
using IvarOffset = std::int64_t;
#endif

struct Ivar {
  IvarOffset* offset;
  const char* name;
  const char* type;
  std::uint32_t alignment_log2;
  std::uint32_t size;
};

struct Protocol;

struct ProtocolList {
  std::uintptr_t count;
  Protocol* entries[1];
};

struct Class;

struct Protocol {
  Class* isa;
  const char* name;
  ProtocolList* inherited;
};

struct ClassRecord {
  std::uint32_t flags;
  std::uint32_t instance_start;
  std::uint32_t instance_size;
  std::uint32_t reserved;
  const std::uint8_t* strong_layout;
  const char* name;
  EntryList<Method>* methods;
  ProtocolList* protocols;
  EntryList<Ivar>* ivars;
  const std::uint8_t* weak_layout;
  void* properties;
};

inline constexpr std::uint32_t is_metaclass = 1;

// Where a class's instances live, which decides what retaining them means.
enum class Storage : std::uint8_t { heap, block, constant };

struct ClassInfo {
  Storage storage = Storage::constant;
  std::atomic<std::int64_t> live{0};
  Implementation construct = nullptr;  // of the C++ instance variables of this class alone
  Implementation destruct = nullptr;
};

struct DispatchEntry {
  Selector selector;
  std::atomic<Implementation> implementation;
};

// Open addressing. objc_msgSend reads it without a lock: what an entry calls may change at any
// time, its selector never. A class that learns a selector gets another table.
struct DispatchTable {
  std::uintptr_t mask;  // of a selector's address: the byte offset of its first possible entry
  std::uintptr_t unused;
  DispatchEntry entries[1];
};

struct Class {
  Class* isa;
  Class* superclass;
  std::atomic<DispatchTable*> table;
  ClassInfo* info;
  ClassRecord* record;
};

struct Object {
  Class* isa;
};

struct Category {
  const char* name;
  Class* extended;
  EntryList<Method>* instance_methods;
  EntryList<Method>* class_methods;
  ProtocolList* protocols;
};

}  // namespace metal_double::runtime

#pragma GCC visibility pop
