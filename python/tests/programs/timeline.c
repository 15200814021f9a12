/* A program without a library whose accesses to memory and calls on files are known, in their order.
 * It is started with files `input` and `shared` of 8,192 bytes in its folder. */

#define PAGE 4096
#define LINE 32

char own[PAGE] __attribute__((aligned(PAGE)));
char buffer[2 * PAGE] __attribute__((aligned(PAGE)));

static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}

#define open_file(name, flags, mode) call(2, (long)(name), flags, mode, 0, 0, 0)
#define map(bytes, protection, flags, file, offset) \
    (volatile char *)call(9, 0, bytes, protection, flags, file, offset)

__attribute__((noreturn, aligned(64))) void _start(void)
{
    enum { READ_WRITE = 2, CREATE = 0100, SHARED = 1, PRIVATE = 2, ANONYMOUS = 040 };
    for (volatile char *at = own; at != own + PAGE; at += LINE)
        *at = 1;
    long input = open_file("input", 0, 0);
    call(0, input, (long)buffer, 5000, 0, 0, 0); /* read */

    long file = open_file("shared", READ_WRITE, 0);
    volatile char *shared = map(2 * PAGE, 3, SHARED, file, 0);
    int sum = shared[0];
    shared[PAGE + 100] = 1;

    volatile char *copied = map(PAGE, 3, PRIVATE, input, PAGE);
    sum += copied[0];
    copied[200] = 1;
    sum += copied[1000];
    call(11, (long)copied, PAGE, 0, 0, 0, 0); /* munmap */

    volatile char *memory = map(2 * PAGE, 3, PRIVATE | ANONYMOUS, -1, 0);
    memory[0] = 1;
    memory[PAGE] = 1;
    call(28, (long)memory, PAGE, 4, 0, 0, 0); /* madvise: not needed */
    memory[0] = 1;

    long made = open_file("made", READ_WRITE | CREATE, 0600);
    call(1, made, (long)own, PAGE, 0, 0, 0); /* write */
    call(74, made, 0, 0, 0, 0, 0);           /* fsync */
    sum += *(volatile char *)&buffer[5500];
    call(87, (long)"made", 0, 0, 0, 0, 0); /* unlink */
    call(3, made, 0, 0, 0, 0, 0);          /* close */
    /* A load that nothing needs would be left out. */
    call(231, 3 + sum, 0, 0, 0, 0, 0); /* exit_group */
    __builtin_unreachable();
}
