#pragma once

#import <objc/objc.h>

extern "C" void objc_msgSend(void);
