#pragma once

#import <objc/objc.h>

typedef struct objc_method* Method;

extern "C" {
const char* class_getName(Class cls);
Class class_getSuperclass(Class cls);
size_t class_getInstanceSize(Class cls);
Class object_getClass(id object);
Class objc_getClass(const char* name);
Method class_getInstanceMethod(Class cls, SEL name);
Method class_getClassMethod(Class cls, SEL name);
IMP class_getMethodImplementation(Class cls, SEL name);
BOOL class_addMethod(Class cls, SEL name, IMP imp, const char* types);
IMP class_replaceMethod(Class cls, SEL name, IMP imp, const char* types);
SEL method_getName(Method m);
IMP method_getImplementation(Method m);
const char* method_getTypeEncoding(Method m);
IMP method_setImplementation(Method m, IMP imp);
void method_exchangeImplementations(Method m1, Method m2);
IMP imp_implementationWithBlock(id block);
id imp_getBlock(IMP imp);
BOOL imp_removeBlock(IMP imp);
const char* sel_getName(SEL selector);
SEL sel_registerName(const char* name);
}
