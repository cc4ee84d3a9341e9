#pragma once

#import <objc/objc.h>

extern "C" {
const char* class_getName(Class cls);
Class class_getSuperclass(Class cls);
size_t class_getInstanceSize(Class cls);
Class object_getClass(id object);
Class objc_getClass(const char* name);
const char* sel_getName(SEL selector);
SEL sel_registerName(const char* name);
}
