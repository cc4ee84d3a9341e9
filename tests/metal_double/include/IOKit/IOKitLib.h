// The look-up of one property of a device that the system knows.
#pragma once

#include <CoreFoundation/CFBase.h>

typedef unsigned int mach_port_t;
typedef int kern_return_t;
typedef mach_port_t io_object_t;
typedef io_object_t io_service_t;
typedef io_object_t io_registry_entry_t;
typedef uint32_t IOOptionBits;

CF_EXPORT const mach_port_t kIOMainPortDefault;

CF_EXPORT CFMutableDictionaryRef IOServiceMatching(const char* name);
// Consumes `matching`.
CF_EXPORT io_service_t IOServiceGetMatchingService(mach_port_t main_port, CFDictionaryRef matching);
CF_EXPORT CFTypeRef IORegistryEntryCreateCFProperty(io_registry_entry_t entry, CFStringRef key,
                                                    CFAllocatorRef allocator, IOOptionBits options);
CF_EXPORT kern_return_t IOObjectRelease(io_object_t object);
