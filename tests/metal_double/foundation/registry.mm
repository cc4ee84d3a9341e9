// Of the system's devices, the one that says how many cores the GPU has.
#import <Foundation/Foundation.h>
#import <IOKit/IOKitLib.h>

namespace {

constexpr io_service_t accelerator = 1;
constexpr int gpu_cores = 10;
NSString* const class_key = @"IOProviderClass";

}  // namespace

const CFAllocatorRef kCFAllocatorDefault = nullptr;
const mach_port_t kIOMainPortDefault = 0;

CFMutableDictionaryRef IOServiceMatching(const char* name) {
  NSMutableDictionary* const matching = [NSMutableDictionary dictionary];
  matching[class_key] = [NSString stringWithUTF8String:name];
  return (__bridge_retained CFMutableDictionaryRef)matching;
}

io_service_t IOServiceGetMatchingService(mach_port_t, CFDictionaryRef matching) {
  NSDictionary* const wanted = (__bridge_transfer NSDictionary*)matching;
  return [wanted[class_key] isEqual:@"AGXAccelerator"] ? accelerator : 0;
}

CFTypeRef IORegistryEntryCreateCFProperty(io_registry_entry_t entry, CFStringRef key,
                                          CFAllocatorRef, IOOptionBits) {
  const bool is_known =
      entry == accelerator && [(__bridge NSString*)key isEqualToString:@"gpu-core-count"];
  return is_known ? (__bridge_retained CFTypeRef) @(gpu_cores) : nullptr;
}

kern_return_t IOObjectRelease(io_object_t) { return 0; }
