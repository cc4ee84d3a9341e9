// For what a loop calls at each step: as a call it would take what the loop keeps in registers
// through memory. Metal's compiler inlines everything, other compilers need the attribute.
#pragma once

#define INLINED __attribute__((always_inline))
