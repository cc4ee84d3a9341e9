#pragma once

#include <stdint.h>

typedef uintptr_t vm_size_t;

extern "C" vm_size_t vm_page_size;
