// The root class, and the classes of what the compiler makes without asking: blocks and protocols.
#import <Foundation/NSObject.h>
#import <Foundation/NSString.h>
#import <objc/runtime.h>

#include "runtime/classes.h"
#include "runtime/dispatch_table.h"
#include "runtime/objects.h"

namespace rt = metal_double::runtime;

namespace {

rt::Object* plain(id object) { return reinterpret_cast<rt::Object*>(object); }
rt::Class* plain(Class type) { return reinterpret_cast<rt::Class*>(type); }

bool responds(const rt::Class* type, SEL selector) {
  return rt::find_method(type, reinterpret_cast<rt::Selector>(selector)) != nullptr;
}

NSString* name_of(Class type) { return [NSString stringWithUTF8String:class_getName(type)]; }

}  // namespace

@implementation NSObject

+ (instancetype)alloc {
  return reinterpret_cast<id>(rt::allocate(plain(self)));
}
+ (instancetype)allocWithZone:(NSZone*)zone {
  return [self alloc];
}
+ (instancetype)new {
  return [[self alloc] init];
}
- (instancetype)init {
  return self;
}
- (void)dealloc {
  rt::dispose(plain(self));
}

- (instancetype)retain {
  objc_retain(plain(self));
  return self;
}
- (oneway void)release {
  objc_release(plain(self));
}
- (instancetype)autorelease {
  objc_autorelease(plain(self));
  return self;
}
- (NSUInteger)retainCount {
  return static_cast<NSUInteger>(rt::owner_count(plain(self)));
}

- (id)copy {
  return [static_cast<id<NSCopying>>(self) copyWithZone:nullptr];
}
- (instancetype)self {
  return self;
}
- (BOOL)isEqual:(id)object {
  return self == object;
}
- (NSUInteger)hash {
  return reinterpret_cast<NSUInteger>(self) / 16;
}
- (NSString*)description {
  return name_of(object_getClass(self));
}

+ (Class)class {
  return self;
}
- (Class)class {
  return object_getClass(self);
}
+ (Class)superclass {
  return class_getSuperclass(self);
}
- (Class)superclass {
  return class_getSuperclass(object_getClass(self));
}
+ (NSString*)description {
  return name_of(self);
}

- (BOOL)isKindOfClass:(Class)aClass {
  return rt::is_kind_of(plain(object_getClass(self)), plain(aClass));
}
- (BOOL)isMemberOfClass:(Class)aClass {
  return object_getClass(self) == aClass;
}
+ (BOOL)conformsToProtocol:(Protocol*)aProtocol {
  return rt::conforms(plain(self), reinterpret_cast<rt::Protocol*>(aProtocol));
}
- (BOOL)conformsToProtocol:(Protocol*)aProtocol {
  return [object_getClass(self) conformsToProtocol:aProtocol];
}
- (BOOL)respondsToSelector:(SEL)aSelector {
  return responds(plain(object_getClass(self)), aSelector);
}
+ (BOOL)instancesRespondToSelector:(SEL)aSelector {
  return responds(plain(self), aSelector);
}

@end

@interface Protocol : NSObject
@end
@implementation Protocol
@end

@interface __NSBlock : NSObject <NSCopying>
@end
@implementation __NSBlock
- (id)copyWithZone:(NSZone*)zone {
  return reinterpret_cast<id>(_Block_copy(plain(self)));
}
@end

@interface __NSStackBlock : __NSBlock
@end
@implementation __NSStackBlock
@end

@interface __NSMallocBlock : __NSBlock
@end
@implementation __NSMallocBlock
@end

@interface __NSGlobalBlock : __NSBlock
@end
@implementation __NSGlobalBlock
@end

// The compiler knows the classes of blocks by these names.
__asm__(R"(
.globl _NSConcreteStackBlock
.hidden _NSConcreteStackBlock
.set _NSConcreteStackBlock, OBJC_CLASS_$___NSStackBlock
.globl _NSConcreteMallocBlock
.hidden _NSConcreteMallocBlock
.set _NSConcreteMallocBlock, OBJC_CLASS_$___NSMallocBlock
.globl _NSConcreteGlobalBlock
.hidden _NSConcreteGlobalBlock
.set _NSConcreteGlobalBlock, OBJC_CLASS_$___NSGlobalBlock
)");
