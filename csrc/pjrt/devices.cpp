#include <string_view>

#include "pjrt/objects.h"

namespace metalbench::pjrt {

namespace {

void id(Ask<DeviceDescription, int>& arguments) {
  arguments.out = given(arguments.of, "a description").id;
}

void device_process_index(Ask<DeviceDescription, int>& arguments) {
  given(arguments.of, "a description");
  arguments.out = 0;
}

void device_attributes(DescriptionAttributes& arguments) {
  given(arguments.of, "a description");
  arguments.items = nullptr;
  arguments.count = 0;
}

void kind(Text<DeviceDescription>& arguments) {
  const std::string& found = given(arguments.of, "a description").kind;
  arguments.text = found.c_str();
  arguments.size = found.size();
}

void text(Text<DeviceDescription>& arguments) {
  const std::string& found = given(arguments.of, "a description").text;
  arguments.text = found.c_str();
  arguments.size = found.size();
}

void description(Ask<Device, DeviceDescription*>& arguments) {
  arguments.out = &given(arguments.of, "a device").client->description;
}

void is_addressable(Ask<Device, bool>& arguments) {
  given(arguments.of, "a device");
  arguments.out = true;
}

void hardware_id(Ask<Device, int>& arguments) {
  arguments.out = given(arguments.of, "a device").client->description.id;
}

void device_memories(List<Device, Memory*>& arguments) {
  const Client& client = *given(arguments.of, "a device").client;
  arguments.items = client.memories.data();
  arguments.count = client.memories.size();
}

void default_memory(Ask<Device, Memory*>& arguments) {
  arguments.out = &given(arguments.of, "a device").client->memory;
}

void device_memory_statistics(DeviceMemoryStatistics& arguments) {
  const Client& client = *given(arguments.device, "a device").client;
  MemoryUse use;
  check(execution().memory_use(*client.queue, use));
  const auto known = [](std::size_t value) {
    return Statistic{static_cast<std::int64_t>(value), true};
  };
  constexpr Statistic unknown{0, false};
  arguments.used_bytes = static_cast<std::int64_t>(use.used_bytes);
  arguments.peak_used_bytes = known(use.peak_bytes);
  arguments.pool_bytes = known(use.used_bytes + use.free_bytes);
  for (Statistic* each : {&arguments.allocations, &arguments.largest_allocation,
                          &arguments.limit_bytes, &arguments.reserved_bytes,
                          &arguments.peak_reserved_bytes, &arguments.reservable_limit_bytes,
                          &arguments.largest_free_block, &arguments.peak_pool_bytes}) {
    *each = unknown;
  }
}

void memory_id(Ask<Memory, int>& arguments) {
  given(arguments.of, "a memory");
  arguments.out = 0;
}

void memory_kind(Text<Memory>& arguments) {
  given(arguments.of, "a memory");
  arguments.text = kMemoryKind;
  arguments.size = std::string_view(kMemoryKind).size();
}

void memory_text(Text<Memory>& arguments) {
  const std::string& found = given(arguments.of, "a memory").text;
  arguments.text = found.c_str();
  arguments.size = found.size();
}

void memory_devices(List<Memory, Device*>& arguments) {
  const Client& client = *given(arguments.of, "a memory").client;
  arguments.items = client.devices.data();
  arguments.count = client.devices.size();
}

}  // namespace

void check_own(const Client& client, const Device* device, const Memory* memory) {
  const bool own = (device == nullptr || device == &client.device) &&
                   (memory == nullptr || memory == &client.memory);
  if (!own) throw Failure(Code::kInvalidArgument, "expected the client's own device and memory");
}

void define_devices(Api& api) {
  define<Function::DeviceDescription_Id, &id>(api);
  define<Function::DeviceDescription_ProcessIndex, &device_process_index>(api);
  define<Function::DeviceDescription_Attributes, &device_attributes>(api);
  define<Function::DeviceDescription_Kind, &kind>(api);
  define<Function::DeviceDescription_DebugString, &text>(api);
  define<Function::DeviceDescription_ToString, &text>(api);
  define<Function::Device_GetDescription, &description>(api);
  define<Function::Device_IsAddressable, &is_addressable>(api);
  define<Function::Device_LocalHardwareId, &hardware_id>(api);
  define<Function::Device_AddressableMemories, &device_memories>(api);
  define<Function::Device_DefaultMemory, &default_memory>(api);
  define<Function::Device_MemoryStats, &device_memory_statistics>(api);
  define<Function::Memory_Id, &memory_id>(api);
  define<Function::Memory_Kind, &memory_kind>(api);
  define<Function::Memory_Kind_Id, &memory_id>(api);
  define<Function::Memory_DebugString, &memory_text>(api);
  define<Function::Memory_ToString, &memory_text>(api);
  define<Function::Memory_AddressableByDevices, &memory_devices>(api);
}

}  // namespace metalbench::pjrt
