// objc_msgSend and its kin leave the arguments where they are and jump to the method, so that no
// frame of theirs is ever on the stack: C++ exceptions see only the caller and the method.
#ifdef __aarch64__

__asm__(R"(
.text

// x9: the dispatch table; x1: the selector. x8 may hold where a structure is returned.
.macro JUMP_TO_METHOD
  ldr x10, [x9]
  and x11, x10, x1
  add x12, x9, #16
1:
  add x13, x12, x11
  ldp x14, x16, [x13]
  cmp x14, x1
  b.ne 2f
  br x16
2:
  cbz x14, 3f
  add x11, x11, #16
  and x11, x11, x10
  b 1b
3:
  b metal_double_unrecognized
.endm

.macro FUNCTION name
  .globl \name
  .hidden \name
  .type \name, %function
  .p2align 5
\name:
  .cfi_startproc
.endm

.macro END name
  .cfi_endproc
  .size \name, .-\name
.endm

FUNCTION objc_msgSend
  cbz x0, 9f
  ldr x9, [x0]
  ldr x9, [x9, #16]
  JUMP_TO_METHOD
9:
  mov x1, #0
  movi d0, #0
  movi d1, #0
  movi d2, #0
  movi d3, #0
  ret
END objc_msgSend

FUNCTION objc_msgSendSuper2
  ldr x9, [x0, #8]
  ldr x0, [x0]
  ldr x9, [x9, #8]
  ldr x9, [x9, #16]
  JUMP_TO_METHOD
END objc_msgSendSuper2

// Only Objective-C's own handlers would need a separate one.
FUNCTION __objc_personality_v0
  b __gxx_personality_v0
END __objc_personality_v0
)");

#endif
