// Argument structures of PJRT's C API, version 0.90, as layouts of memory.
//
// Each begins with its size and a chain of extensions. A newer caller may pass a longer structure,
// so nothing beyond these members is read or written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pjrt/functions.h"

namespace metalbench::pjrt {

struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Topology;
struct Executable;
struct LoadedExecutable;
struct Buffer;

struct Head {
  std::size_t size;
  void* extensions;
};

// Most functions query one property of one object.
template <class Of>
struct Only {
  Head head;
  Of* of;
};

template <class Of, class Out>
struct Ask {
  Head head;
  Of* of;
  Out out;
};

template <class Of>
struct Text {
  Head head;
  Of* of;
  const char* text;
  std::size_t size;
};

template <class Of, class Item>
struct List {
  Head head;
  Of* of;
  const Item* items;
  std::size_t count;
};

// Values of absl::StatusCode.
enum class Code : int {
  kCancelled = 1,
  kInvalidArgument = 3,
  kNotFound = 5,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
};

enum class NamedValueKind : int { kString, kInt64, kInt64List, kFloat, kBool };

struct NamedValue {
  Head head;
  const char* name;
  std::size_t name_size;
  NamedValueKind kind;
  union {
    const char* text;
    std::int64_t integer;
    const std::int64_t* integers;
    float number;
    bool flag;
  };
  std::size_t size;
};

struct PluginInitialize {
  Head head;
};

struct PluginAttributes {
  Head head;
  const NamedValue* items;
  std::size_t count;
};

// Takes ownership of the error.
using ReadyCallback = void (*)(Error* error, void* user);

struct EventOnReady {
  Head head;
  Event* event;
  ReadyCallback callback;
  void* user;
};

struct ClientCreate {
  Head head;
  const NamedValue* options;
  std::size_t option_count;
  void* key_value_callbacks[4];
  Client* client;
};

struct LookupDevice {
  Head head;
  Client* client;
  int id;
  Device* device;
};

struct Program {
  Head head;
  char* code;
  std::size_t code_size;
  const char* format;
  std::size_t format_size;
};

struct Compile {
  Head head;
  Client* client;
  const Program* program;
  const char* options;
  std::size_t options_size;
  LoadedExecutable* executable;
};

struct DefaultDeviceAssignment {
  Head head;
  Client* client;
  int replicas;
  int partitions;
  std::size_t size;
  int* devices;
};

struct DescriptionAttributes {
  Head head;
  DeviceDescription* of;
  std::size_t count;
  const NamedValue* items;
};

enum class LayoutKind : int { kTiled, kStrides };

struct Tiled {
  Head head;
  const std::int64_t* minor_to_major;
  std::size_t rank;
  const std::int64_t* tile_dimensions;
  const std::size_t* tile_ranks;
  std::size_t tiles;
};

struct Strides {
  Head head;
  const std::int64_t* bytes;
  std::size_t rank;
};

struct Layout {
  Head head;
  union {
    Tiled tiled;
    Strides strides;
  };
  LayoutKind kind;
};

struct FromHost {
  Head head;
  Client* client;
  const void* data;
  int type;
  const std::int64_t* dimensions;
  std::size_t rank;
  const std::int64_t* byte_strides;
  std::size_t stride_count;
  int semantics;
  Device* device;
  Memory* memory;
  Layout* layout;
  Event* done;
  Buffer* buffer;
};

struct ToHost {
  Head head;
  Buffer* buffer;
  Layout* layout;
  void* data;
  std::size_t size;
  Event* done;
};

struct CopyRawToHost {
  Head head;
  Buffer* buffer;
  void* data;
  std::int64_t offset;
  std::int64_t size;
  Event* done;
};

struct CopyToDevice {
  Head head;
  Buffer* buffer;
  Device* device;
  Buffer* made;
};

struct CopyToMemory {
  Head head;
  Buffer* buffer;
  Memory* memory;
  Buffer* made;
};

struct MemoryLayout {
  Head head;
  Buffer* buffer;
  Layout layout;
};

struct ExecuteOptions {
  Head head;
  void* send_callbacks;
  void* receive_callbacks;
  std::size_t sends;
  std::size_t receives;
  int launch;
  const std::int64_t* kept;
  std::size_t kept_count;
};

struct Execute {
  Head head;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* arguments;
  std::size_t devices;
  std::size_t argument_count;
  Buffer** const* results;
  Event** done;
  Device* device;
};

struct OptimizedProgram {
  Head head;
  Executable* executable;
  Program* program;
};

struct CostAnalysis {
  Head head;
  Executable* executable;
  std::size_t count;
  const NamedValue* items;
};

struct OutputDimensions {
  Head head;
  Executable* executable;
  std::size_t count;
  const std::int64_t* dimensions;
  const std::size_t* ranks;
};

struct OutputMemoryKinds {
  Head head;
  Executable* executable;
  std::size_t count;
  const char* const* kinds;
  const std::size_t* sizes;
};

// A number of bytes or allocations, and whether the device knows it.
struct Statistic {
  std::int64_t value;
  bool is_set;
};

struct DeviceMemoryStatistics {
  Head head;
  Device* device;
  std::int64_t used_bytes;
  Statistic peak_used_bytes, allocations, largest_allocation, limit_bytes;
  Statistic reserved_bytes, peak_reserved_bytes, reservable_limit_bytes, largest_free_block;
  Statistic pool_bytes, peak_pool_bytes;
};

struct MemoryStatistics {
  Head head;
  Executable* executable;
  std::int64_t code_bytes;
  std::int64_t argument_bytes;
  std::int64_t output_bytes;
  std::int64_t alias_bytes;
  std::int64_t temporary_bytes;
  std::int64_t host_bytes[5];
  std::int64_t peak_bytes;
  std::int64_t total_bytes;
};

// Bytes that are valid until the caller passes `owner` to `release`.
template <class Of>
struct Bytes {
  Head head;
  Of* of;
  const char* bytes;
  std::size_t size;
  void* owner;
  void (*release)(void* owner);
};

struct DeserializeAndLoad {
  Head head;
  Client* client;
  const char* bytes;
  std::size_t size;
  LoadedExecutable* executable;
  const char* options;
  std::size_t options_size;
};

using Slot = Error* (*)(void* arguments);

struct Version {
  Head head;
  int major;
  int minor;
};

struct Api {
  Head head;
  Version version;
  Slot functions[static_cast<int>(Function::kCount)];
};

// Sizes from the header of this version of the ABI.
static_assert(sizeof(Api) == 1064);
static_assert(sizeof(NamedValue) == 56 && sizeof(Layout) == 80);
static_assert(sizeof(FromHost) == 120 && sizeof(Execute) == 80);

}  // namespace metalbench::pjrt
