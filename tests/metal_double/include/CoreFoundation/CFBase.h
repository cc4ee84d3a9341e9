#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define CF_EXPORT extern "C"
#else
#define CF_EXPORT extern
#endif
#ifdef __OBJC__
#define CF_BRIDGED_TYPE(type) __attribute__((objc_bridge(type)))
#else
#define CF_BRIDGED_TYPE(type)
#endif

typedef const void* CFTypeRef;
typedef const struct CF_BRIDGED_TYPE(NSString) __CFString* CFStringRef;
typedef const struct CF_BRIDGED_TYPE(NSDictionary) __CFDictionary* CFDictionaryRef;
typedef struct CF_BRIDGED_TYPE(NSMutableDictionary) __CFDictionary* CFMutableDictionaryRef;
typedef const struct __CFAllocator* CFAllocatorRef;
typedef double CFTimeInterval;

CF_EXPORT const CFAllocatorRef kCFAllocatorDefault;
CF_EXPORT CFTypeRef CFRetain(CFTypeRef object);
CF_EXPORT void CFRelease(CFTypeRef object);
