/* A program without a library or a stack frame, whose accesses can be counted by hand: it stores one
 * byte to each 32-byte line of 64 KiB, and then loads one byte from each. */

#define ARRAY_BYTES 65536
#define LINE_BYTES 32

static char array[ARRAY_BYTES] __attribute__((aligned(4096)));

static void leave(void)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(231), "D"(7) : "memory");
#elif defined(__aarch64__)
    register long number __asm__("x8") = 94;
    register long code __asm__("x0") = 7;
    __asm__ volatile("svc 0" : : "r"(number), "r"(code) : "memory");
#elif defined(__arm__)
    register long number __asm__("r7") = 248;
    register long code __asm__("r0") = 7;
    __asm__ volatile("svc 0" : : "r"(number), "r"(code) : "memory");
#endif
}

__attribute__((noreturn, aligned(64))) void _start(void)
{
    for (volatile char *at = array; at != array + ARRAY_BYTES; at += LINE_BYTES)
        *at = 1;
    for (volatile char *at = array; at != array + ARRAY_BYTES; at += LINE_BYTES)
        (void)*at;
    leave();
    __builtin_unreachable();
}
