#pragma once

#import <CoreFoundation/CFBase.h>
#import <objc/objc.h>
#import <stdbool.h>
#import <stdint.h>

typedef long NSInteger;
typedef unsigned long NSUInteger;

#define NSIntegerMax LONG_MAX
#define NSUIntegerMax ULONG_MAX

#define NS_ENUM(type, name) \
  enum name : type name;    \
  enum name : type
// In C++ a set of options is an integer, so that `|` keeps the type.
#define NS_OPTIONS(type, name) \
  type name;                   \
  enum __attribute__((flag_enum)) : type
#define NS_ERROR_ENUM(domain, name) NS_ENUM(NSInteger, name)
#define NS_TYPED_ENUM
#define NS_STRING_ENUM
// Apple's compilers know this spelling by themselves.
#ifndef __APPLE__
#define __nullable _Nullable
#endif

#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#define NS_RETURNS_RETAINED __attribute__((ns_returns_retained))
#define NS_RETURNS_NOT_RETAINED __attribute__((ns_returns_not_retained))
#define NS_RETURNS_INNER_POINTER __attribute__((objc_returns_inner_pointer))
#define NS_DESIGNATED_INITIALIZER __attribute__((objc_designated_initializer))
#define NS_REQUIRES_NIL_TERMINATION __attribute__((sentinel(0, 1)))
#define NS_UNAVAILABLE __attribute__((unavailable))
#define NS_SWIFT_NAME(name)
#define NS_ROOT_CLASS __attribute__((objc_root_class))

#define API_AVAILABLE(...)
#define API_UNAVAILABLE(...)
#define API_DEPRECATED(...)
#define API_DEPRECATED_WITH_REPLACEMENT(...)

#ifdef __cplusplus
#define FOUNDATION_EXPORT extern "C"
#else
#define FOUNDATION_EXPORT extern
#endif
#define FOUNDATION_EXTERN FOUNDATION_EXPORT
#define NS_INLINE static inline

typedef NS_ENUM(NSInteger, NSComparisonResult) {
  NSOrderedAscending = -1L,
  NSOrderedSame,
  NSOrderedDescending,
};

@class NSString;

FOUNDATION_EXPORT Class _Nullable NSClassFromString(NSString* _Nonnull name);
FOUNDATION_EXPORT SEL _Nonnull NSSelectorFromString(NSString* _Nonnull name);
FOUNDATION_EXPORT NSString* _Nonnull NSStringFromClass(Class _Nonnull cls);
FOUNDATION_EXPORT NSString* _Nonnull NSStringFromSelector(SEL _Nonnull selector);
