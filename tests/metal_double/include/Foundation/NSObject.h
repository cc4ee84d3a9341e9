#pragma once

#import <Foundation/NSObjCRuntime.h>

struct _NSZone;
typedef struct _NSZone NSZone;

NS_ASSUME_NONNULL_BEGIN

@class Protocol;

@protocol NSObject
- (BOOL)isEqual:(nullable id)object;
@property(readonly) NSUInteger hash;
@property(readonly) Class superclass;
- (Class)class;
- (instancetype)self;
- (BOOL)isKindOfClass:(Class)aClass;
- (BOOL)isMemberOfClass:(Class)aClass;
- (BOOL)conformsToProtocol:(Protocol*)aProtocol;
- (BOOL)respondsToSelector:(SEL)aSelector;
#if !__has_feature(objc_arc)
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
- (NSUInteger)retainCount;
#endif
@property(readonly, copy) NSString* description;
@end

@protocol NSCopying
- (id)copyWithZone:(nullable NSZone*)zone;
@end

NS_ROOT_CLASS
@interface NSObject <NSObject> {
  Class isa;
}
- (instancetype)init;
+ (instancetype)new;
+ (instancetype)allocWithZone:(nullable NSZone*)zone;
+ (instancetype)alloc;
- (void)dealloc;
- (id)copy;
+ (BOOL)instancesRespondToSelector:(SEL)aSelector;
+ (BOOL)conformsToProtocol:(Protocol*)aProtocol;
+ (Class)superclass;
+ (Class)class;
+ (NSString*)description;
@end

NS_ASSUME_NONNULL_END
