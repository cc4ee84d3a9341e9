#import <Foundation/NSProcessInfo.h>
#include <unistd.h>

#include "metal/control.h"

using metal_double::Switch;

@implementation NSProcessInfo

+ (NSProcessInfo*)processInfo {
  return [[NSProcessInfo alloc] init];
}
- (unsigned long long)physicalMemory {
  return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}
- (NSOperatingSystemVersion)operatingSystemVersion {
  return {15, 0, 0};
}
- (NSString*)operatingSystemVersionString {
  return @"Version 15.0 (Build of the double)";
}
- (BOOL)isLowPowerModeEnabled {
  return metal_double::is_on(Switch::low_power);
}
- (NSProcessInfoThermalState)thermalState {
  return static_cast<NSProcessInfoThermalState>(metal_double::value(Switch::thermal_state));
}

@end
