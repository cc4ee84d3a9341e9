#pragma once

#import <Foundation/NSString.h>

typedef NS_ENUM(NSInteger, NSProcessInfoThermalState) {
  NSProcessInfoThermalStateNominal,
  NSProcessInfoThermalStateFair,
  NSProcessInfoThermalStateSerious,
  NSProcessInfoThermalStateCritical,
};

typedef struct {
  NSInteger majorVersion;
  NSInteger minorVersion;
  NSInteger patchVersion;
} NSOperatingSystemVersion;

// Some of them are bits without a separate name.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wflag-enum"
typedef NS_OPTIONS(uint64_t, NSActivityOptions) {
  NSActivityIdleDisplaySleepDisabled = (1ULL << 40),
  NSActivityIdleSystemSleepDisabled = (1ULL << 20),
  NSActivitySuddenTerminationDisabled = (1ULL << 14),
  NSActivityAutomaticTerminationDisabled = (1ULL << 15),
  NSActivityUserInitiated = (0x00FFFFFFULL | NSActivityIdleSystemSleepDisabled),
  NSActivityBackground = 0x000000FFULL,
  NSActivityLatencyCritical = 0xFF00000000ULL,
};
#pragma clang diagnostic pop

NS_ASSUME_NONNULL_BEGIN

@interface NSProcessInfo : NSObject
@property(class, readonly, strong) NSProcessInfo* processInfo;
@property(readonly) unsigned long long physicalMemory;
@property(readonly, copy) NSString* operatingSystemVersionString;
@property(readonly) NSOperatingSystemVersion operatingSystemVersion;
@property(readonly, getter=isLowPowerModeEnabled) BOOL lowPowerModeEnabled;
@property(readonly) NSProcessInfoThermalState thermalState;
- (id<NSObject>)beginActivityWithOptions:(NSActivityOptions)options reason:(NSString*)reason;
- (void)endActivity:(id<NSObject>)activity;
@end

NS_ASSUME_NONNULL_END
