/* What madvise() promises is kept, or refused. Says for each advice which of the two, then what contents became. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20 };

static const struct { int advice; const char *name; } ADVICE[] = {
    {0, "NORMAL"}, {3, "WILLNEED"}, {4, "DONTNEED"}, {8, "FREE"}, {9, "REMOVE"}, {10, "DONTFORK"}, {11, "DOFORK"},
    {12, "MERGEABLE"}, {14, "HUGEPAGE"}, {16, "DONTDUMP"}, {17, "DODUMP"}, {18, "WIPEONFORK"}, {19, "KEEPONFORK"},
    {20, "COLD"}, {21, "PAGEOUT"}, {23, "POPULATE_WRITE"}, {24, "DONTNEED_LOCKED"}, {25, "COLLAPSE"}, {100, "HWPOISON"},
    {102, "GUARD_INSTALL"}, {103, "GUARD_REMOVE"}, {77, "unknown"}, {-1, "negative"},
};

static const char *contents(const unsigned char *bytes)
{
    unsigned ones = 0;
    for (int index = 0; index < MEBIBYTE; index++)
        ones += bytes[index] == 1;
    return ones == MEBIBYTE ? "kept" : ones == 0 ? "forgotten" : "neither";
}

int main(void)
{
    for (unsigned index = 0; index < sizeof ADVICE / sizeof *ADVICE; index++) {
        unsigned char *memory = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 1, MEBIBYTE);
        errno = 0;
        int result = madvise(memory, MEBIBYTE, ADVICE[index].advice);
        const char *said = result == 0 ? "done" : errno == EINVAL ? "refused" : "another error";
        printf("%s: %s, %s\n", ADVICE[index].name, said, contents(memory));
        munmap(memory, MEBIBYTE);
    }
    unsigned char *memory = mmap(NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, MEBIBYTE);
    printf("nothing: %d\n", madvise(memory, 0, MADV_DONTNEED));
    /* Linux 6.13 and newer does that; older ones refuse it. */
    struct iovec parts[2] = {{memory, MEBIBYTE / 2}, {memory + MEBIBYTE / 2, MEBIBYTE / 2}};
    int process = syscall(SYS_pidfd_open, getpid(), 0);
    long advised = syscall(SYS_process_madvise, process, parts, 2, MADV_DONTNEED, 0);
    printf("of a process: %s\n", advised == MEBIBYTE ? contents(memory) : advised == -1 ? "forgotten" : "neither");
    return 0;
}
