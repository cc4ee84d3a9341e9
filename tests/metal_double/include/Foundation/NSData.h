#pragma once

#import <Foundation/NSObject.h>

NS_ASSUME_NONNULL_BEGIN

@interface NSData : NSObject <NSCopying>
@property(readonly) NSUInteger length;
@property(nullable, readonly) const void* bytes NS_RETURNS_INNER_POINTER;
- (instancetype)initWithBytes:(nullable const void*)bytes length:(NSUInteger)length;
+ (instancetype)data;
+ (instancetype)dataWithBytes:(nullable const void*)bytes length:(NSUInteger)length;
@end

NS_ASSUME_NONNULL_END
