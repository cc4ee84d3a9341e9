#import <Foundation/NSProcessInfo.h>
#include <unistd.h>

#include "metal/control.h"

using metal_double::Count;
using metal_double::Switch;

// As Apple's, it also ends when it is released.
@interface DoubleActivity : NSObject
- (void)end;
@end

@implementation DoubleActivity {
  bool _ended;
}
- (instancetype)init {
  if ((self = [super init]) != nil) metal_double::count(Count::wakeful_activities);
  return self;
}
- (void)end {
  if (!_ended) metal_double::count(Count::wakeful_activities, -1);
  _ended = true;
}
- (void)dealloc {
  [self end];
}
@end

@implementation NSProcessInfo

+ (NSProcessInfo*)processInfo {
  return [[NSProcessInfo alloc] init];
}
- (unsigned long long)physicalMemory {
  return static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
}
- (NSOperatingSystemVersion)operatingSystemVersion {
  return {static_cast<NSInteger>(metal_double::value(Switch::os_major)), 0, 0};
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
- (id<NSObject>)beginActivityWithOptions:(NSActivityOptions)options reason:(NSString*)reason {
  if (reason.length == 0) metal_double::violation("beginActivityWithOptions: no reason");
  const bool stays_awake = (options & NSActivityIdleSystemSleepDisabled) != 0;
  return stays_awake ? [[DoubleActivity alloc] init] : [[NSObject alloc] init];
}
- (void)endActivity:(id<NSObject>)activity {
  if ([activity isKindOfClass:[DoubleActivity class]]) [(DoubleActivity*)activity end];
}

@end
