// objc_msgSend and its kin leave the arguments where they are and jump to the method, so that no
// frame of theirs is ever on the stack: C++ exceptions see only the caller and the method.
#ifdef __x86_64__

__asm__(R"(
.text

# r10: the dispatch table.
.macro JUMP_TO_METHOD selector
  movq (%r10), %r11
  andq \selector, %r11
1:
  cmpq \selector, 16(%r10,%r11)
  jne 2f
  jmpq *24(%r10,%r11)
2:
  cmpq $0, 16(%r10,%r11)
  je 3f
  addq $16, %r11
  andq (%r10), %r11
  jmp 1b
3:
.endm

.macro FUNCTION name
  .globl \name
  .hidden \name
  .type \name, @function
  .p2align 5
\name:
  .cfi_startproc
.endm

.macro END name
  .cfi_endproc
  .size \name, .-\name
.endm

FUNCTION objc_msgSend
  testq %rdi, %rdi
  je 9f
  movq (%rdi), %r10
  movq 16(%r10), %r10
  JUMP_TO_METHOD %rsi
  jmp metal_double_unrecognized
9:
  xorl %eax, %eax
  xorl %edx, %edx
  xorps %xmm0, %xmm0
  xorps %xmm1, %xmm1
  retq
END objc_msgSend

FUNCTION objc_msgSend_stret
  testq %rsi, %rsi
  je 9f
  movq (%rsi), %r10
  movq 16(%r10), %r10
  JUMP_TO_METHOD %rdx
  movq %rsi, %rdi
  movq %rdx, %rsi
  jmp metal_double_unrecognized
9:
  movq %rdi, %rax
  retq
END objc_msgSend_stret

FUNCTION objc_msgSendSuper2
  movq 8(%rdi), %r10
  movq (%rdi), %rdi
  movq 8(%r10), %r10
  movq 16(%r10), %r10
  JUMP_TO_METHOD %rsi
  jmp metal_double_unrecognized
END objc_msgSendSuper2

FUNCTION objc_msgSendSuper2_stret
  movq 8(%rsi), %r10
  movq (%rsi), %rsi
  movq 8(%r10), %r10
  movq 16(%r10), %r10
  JUMP_TO_METHOD %rdx
  movq %rsi, %rdi
  movq %rdx, %rsi
  jmp metal_double_unrecognized
END objc_msgSendSuper2_stret

# Only Objective-C's own handlers would need a separate one.
FUNCTION __objc_personality_v0
  jmp __gxx_personality_v0@PLT
END __objc_personality_v0
)");

#endif
