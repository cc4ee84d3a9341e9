#include "metal/capabilities.h"

#import <Foundation/Foundation.h>
#import <IOKit/IOKitLib.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "metal/metal4_api.h"
#include "metal/strings.h"

namespace metalbench::metal {
namespace {

std::string family_of(id<MTLDevice> device) {
  // Numbers above those of the SDK are valid queries.
  for (NSInteger generation = 20; generation >= 1; --generation) {
    const auto family = static_cast<MTLGPUFamily>(MTLGPUFamilyApple1 + generation - 1);
    if ([device supportsFamily:family]) return "apple" + std::to_string(generation);
  }
  return [device supportsFamily:MTLGPUFamilyMac2] ? "mac2" : "";
}

// https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf: "Texture atomics" and "64-bit
// atomic minimum and maximum".
TextureAtomics texture_atomics_of(id<MTLDevice> device) {
  if ([device supportsFamily:MTLGPUFamilyApple8]) return TextureAtomics::pairs;
  const bool words =
      [device supportsFamily:MTLGPUFamilyApple6] || [device supportsFamily:MTLGPUFamilyMac2];
  return words ? TextureAtomics::words : TextureAtomics::none;
}

std::uint32_t core_count() {
  // Releases the dictionary of IOServiceMatching; 0 is the default port.
  const io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("AGXAccelerator"));
  if (service == 0) return 0;
  const CFTypeRef property = IORegistryEntryCreateCFProperty(
      service, (__bridge CFStringRef) @"gpu-core-count", kCFAllocatorDefault, 0);
  IOObjectRelease(service);
  const id count = (__bridge_transfer id)property;
  return [count isKindOfClass:[NSNumber class]] ? [count unsignedIntValue] : 0;
}

std::vector<std::string> counter_sets_of(id<MTLDevice> device) {
  std::vector<std::string> names;
  for (id<MTLCounterSet> set in device.counterSets) names.push_back(to_string(set.name));
  return names;
}

std::vector<std::string> sampling_points_of(id<MTLDevice> device) {
  constexpr std::pair<MTLCounterSamplingPoint, const char*> points[] = {
      {MTLCounterSamplingPointAtStageBoundary, "stage"},
      {MTLCounterSamplingPointAtDrawBoundary, "draw"},
      {MTLCounterSamplingPointAtDispatchBoundary, "dispatch"},
      {MTLCounterSamplingPointAtTileDispatchBoundary, "tile_dispatch"},
      {MTLCounterSamplingPointAtBlitBoundary, "blit"},
  };
  std::vector<std::string> names;
  for (const auto& [point, name] : points) {
    if ([device supportsCounterSampling:point]) names.push_back(name);
  }
  return names;
}

bool has_timestamps(id<MTLDevice> device) {
  for (id<MTLCounterSet> set in device.counterSets) {
    if ([set.name isEqualToString:MTLCommonCounterSetTimestamp]) return true;
  }
  return false;
}

const char* spoken(NSProcessInfoThermalState state) {
  switch (state) {
    case NSProcessInfoThermalStateNominal:
      return "nominal";
    case NSProcessInfoThermalStateFair:
      return "fair";
    case NSProcessInfoThermalStateSerious:
      return "serious";
    case NSProcessInfoThermalStateCritical:
      return "critical";
  }
  return "unknown";
}

}  // namespace

Capabilities probe(id<MTLDevice> device) {
  NSProcessInfo* const process = NSProcessInfo.processInfo;
  Capabilities found;
  found.name = to_string(device.name);
  found.family = family_of(device);
  found.cores = core_count();
  found.texture_atomics = texture_atomics_of(device);
  found.metal3 = [device supportsFamily:MTLGPUFamilyMetal3];
  found.metal4 = [device respondsToSelector:@selector(newMTL4CommandQueueWithDescriptor:error:)];
  found.unified_memory = device.hasUnifiedMemory;
  found.memory_bytes = process.physicalMemory;
  found.working_set_bytes = device.recommendedMaxWorkingSetSize;
  found.max_buffer_bytes = device.maxBufferLength;
  const MTLSize threads = device.maxThreadsPerThreadgroup;
  found.max_threads_per_threadgroup = static_cast<std::uint32_t>(threads.width);
  found.max_threadgroup_bytes = static_cast<std::uint32_t>(device.maxThreadgroupMemoryLength);
  found.counter_sets = counter_sets_of(device);
  found.sampling_points = sampling_points_of(device);
  found.stage_counters = has_timestamps(device) &&
                         [device supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary];
  found.residency_sets =
      [device respondsToSelector:NSSelectorFromString(@"newResidencySetWithDescriptor:error:")];
  // Command buffers of Metal 4 make nothing resident themselves.
  found.tensors = found.metal4 && found.residency_sets &&
                  [device supportsFamily:static_cast<MTLGPUFamily>(metal4_gpu_family)];
  found.gpu_trace = [MTLCaptureManager.sharedCaptureManager
      supportsDestination:MTLCaptureDestinationGPUTraceDocument];
  found.os_version = to_string(process.operatingSystemVersionString);
  found.os_major = process.operatingSystemVersion.majorVersion;
  found.tools = active_tools();
  return found;
}

Limits limits_of(const Capabilities& capabilities) {
  Limits limits;
  limits.max_threads_per_threadgroup = capabilities.max_threads_per_threadgroup;
  limits.max_threadgroup_bytes = capabilities.max_threadgroup_bytes;
  return limits;
}

Facts facts_of(const Capabilities& capabilities, double tick_ns) {
  const auto bytes = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
  return {
      {"family", capabilities.family},
      {"metal3", capabilities.metal3},
      {"metal4", capabilities.metal4},
      {"tensors", capabilities.tensors},
      {"unified_memory", capabilities.unified_memory},
      {"memory_bytes", bytes(capabilities.memory_bytes)},
      {"working_set_bytes", bytes(capabilities.working_set_bytes)},
      {"max_buffer_bytes", bytes(capabilities.max_buffer_bytes)},
      {"counter_sets", capabilities.counter_sets},
      {"sampling_points", capabilities.sampling_points},
      {"residency_sets", capabilities.residency_sets},
      {"gpu_trace", capabilities.gpu_trace},
      {"os_version", capabilities.os_version},
      {"tick_ns", tick_ns},
  };
}

std::vector<std::string> active_tools() {
  constexpr const char* known[] = {"METAL_DEVICE_WRAPPER_TYPE", "MTL_CAPTURE_ENABLED",
                                   "MTL_DEBUG_LAYER", "MTL_HUD_ENABLED", "MTL_SHADER_VALIDATION"};
  std::vector<std::string> found;
  for (const char* name : known) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0' && std::string_view(value) != "0") found.push_back(name);
  }
  return found;
}

Facts state_of(id<MTLDevice> device) {
  NSProcessInfo* const process = NSProcessInfo.processInfo;
  return {
      {"low_power_mode", static_cast<bool>(process.isLowPowerModeEnabled)},
      {"thermal_state", std::string(spoken(process.thermalState))},
      {"allocated_bytes", static_cast<std::int64_t>(device.currentAllocatedSize)},
      {"metal_tools", active_tools()},
  };
}

}  // namespace metalbench::metal
