#pragma once

#import <Foundation/NSObject.h>

typedef NSUInteger NSStringEncoding;
enum : NSStringEncoding {
  NSASCIIStringEncoding = 1,
  NSUTF8StringEncoding = 4,
  NSISOLatin1StringEncoding = 5,
};

NS_ASSUME_NONNULL_BEGIN

@interface NSString : NSObject <NSCopying>
// In UTF-16 units.
@property(readonly) NSUInteger length;
@property(nullable, readonly) const char* UTF8String NS_RETURNS_INNER_POINTER;
- (BOOL)isEqualToString:(NSString*)other;
- (NSComparisonResult)compare:(NSString*)other;
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)hasPrefix:(NSString*)prefix;
- (BOOL)hasSuffix:(NSString*)suffix;
- (NSString*)stringByAppendingString:(NSString*)other;
- (instancetype)init;
- (nullable instancetype)initWithUTF8String:(const char*)text;
- (nullable instancetype)initWithBytes:(const void*)bytes
                                length:(NSUInteger)length
                              encoding:(NSStringEncoding)encoding;
+ (instancetype)string;
+ (nullable instancetype)stringWithUTF8String:(const char*)text;
@end

NS_ASSUME_NONNULL_END
