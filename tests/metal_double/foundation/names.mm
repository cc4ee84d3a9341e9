#import <Foundation/NSString.h>
#import <objc/runtime.h>

Class NSClassFromString(NSString* name) {
  return name == nil ? Nil : objc_getClass(name.UTF8String);
}
SEL NSSelectorFromString(NSString* name) { return sel_registerName(name.UTF8String); }
NSString* NSStringFromClass(Class cls) {
  return [NSString stringWithUTF8String:class_getName(cls)];
}
NSString* NSStringFromSelector(SEL selector) {
  return [NSString stringWithUTF8String:sel_getName(selector)];
}
