/* Unmaps, moves, replaces or forgets a part of its paged memory by instructions of its own, and goes on to use what is left. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static long call(long number, void *address, size_t second, size_t third, long fourth)
{
    long result;
    register long flags __asm__("r10") = fourth;
    register long descriptor __asm__("r8") = -1;
    register long offset __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(address), "S"(second), "d"(third), "r"(flags), "r"(descriptor), "r"(offset)
                     : "rcx", "r11", "memory");
    return result;
}

int main(int count, char **arguments)
{
    size_t bytes = 8 << 20, part = 1 << 20;
    const char *what = count > 1 ? arguments[1] : "nothing";
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, bytes);
    if (strcmp(what, "unmaps") == 0)
        call(SYS_munmap, memory + part, part, 0, 0);
    else if (strcmp(what, "moves") == 0)
        call(SYS_mremap, memory + part, part, 2 * part, MREMAP_MAYMOVE);
    else if (strcmp(what, "replaces") == 0)
        call(SYS_mmap, memory + part, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
    else if (strcmp(what, "forgets") == 0)
        for (int turn = 0; turn < 3; turn++) {
            printf("%ld\n", call(SYS_madvise, memory, part, turn == 1 ? MADV_REMOVE : MADV_DONTNEED, 0));
            if (turn == 1)
                munlockall();
        }
    for (int round = 0; round < 3; round++)
        for (size_t place = 4 * part; place < bytes; place++)
            memory[place]++;
    puts("to the end");
    return 0;
}
