// System calls that touch no memory of the C library: no errno, no cancellation, no locks.
//
// For code that runs in a process which shares the agent's address space.
#ifndef CUBBY_AGENT_RAW_SYSCALL_H_
#define CUBBY_AGENT_RAW_SYSCALL_H_

#include <sys/syscall.h>

namespace cubby::agent {

#if defined(__x86_64__)

// Returns -errno on failure.
inline long RawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
}

// clone(2) with the child running `function(argument)` on `stack_top` and then exiting with its
// result. Returns the child's pid or -errno.
inline long RawClone(unsigned long flags, void* stack_top, int (*function)(void*), void* argument) {
  void** stack = static_cast<void**>(stack_top);
  *--stack = argument;
  *--stack = reinterpret_cast<void*>(function);
  long result;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "pop %%rax\n\t"
      "pop %%rdi\n\t"
      "call *%%rax\n\t"
      "mov %%eax, %%edi\n\t"
      "mov %[exit], %%eax\n\t"
      "syscall\n\t"
      "hlt\n\t"
      "1:"
      : "=a"(result)
      : "a"(static_cast<long>(SYS_clone)), "D"(flags), "S"(stack), "d"(0L), "r"(r10),
        "r"(r8), [exit] "i"(SYS_exit_group)
      : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline long RawSyscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

inline long RawClone(unsigned long flags, void* stack_top, int (*function)(void*), void* argument) {
  register long x8 asm("x8") = SYS_clone;
  register long x0 asm("x0") = static_cast<long>(flags);
  register void* x1 asm("x1") = stack_top;
  register long x2 asm("x2") = 0;
  register long x3 asm("x3") = 0;
  register long x4 asm("x4") = 0;
  register void* x9 asm("x9") = reinterpret_cast<void*>(function);
  register void* x10 asm("x10") = argument;
  asm volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x10\n\t"
      "blr x9\n\t"
      "mov x8, %[exit]\n\t"
      "svc 0\n\t"
      "brk 1\n\t"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), "r"(x10), [exit] "i"(SYS_exit_group)
      : "memory");
  return x0;
}

#else
#error "the agent knows x86-64 and arm64"
#endif

}  // namespace cubby::agent

#endif  // CUBBY_AGENT_RAW_SYSCALL_H_
