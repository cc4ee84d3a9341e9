#pragma once

#import <Metal/MTLArgument.h>

NS_ASSUME_NONNULL_BEGIN

@interface MTLFunctionConstantValues : NSObject
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValue:(const void*)value type:(MTLDataType)type withName:(NSString*)name;
- (void)reset;
@end

NS_ASSUME_NONNULL_END
