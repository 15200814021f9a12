/* System calls by their number do to memory and descriptors what the C library's functions do. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, PAGE = 4096 };

static void say(const char *what, int condition)
{
    printf("%s: %s\n", what, condition ? "yes" : "NO");
    fflush(stdout);
}

static int all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t index = 0; index < count; index++)
        if (bytes[index] != value)
            return 0;
    return 1;
}

static unsigned char *map(void)
{
    return (void *)syscall(SYS_mmap, NULL, MEBIBYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
}

static int in_child(void *memory)
{
    int sees = all(memory, MEBIBYTE, 5);
    memset(memory, 6, MEBIBYTE);
    _exit(sees ? 0 : 1);
}

enum { BY_FORK, BY_NUMBER, BY_CLONE, BY_CLONE3, BY_UNDERSCORE_FORK, BY_FUNCTION };

/* Makes a child that calls in_child(). */
static pid_t made(int way, unsigned char *memory)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    /* The stack of a child that begins with a function is paged memory. */
    static unsigned char *stack;
    if (!stack)
        stack = malloc(MEBIBYTE);
    if (way == BY_FUNCTION)
        return clone(in_child, stack + MEBIBYTE, SIGCHLD | CLONE_FILES, memory);
    pid_t child = way == BY_NUMBER          ? syscall(SYS_fork)
                  : way == BY_CLONE         ? syscall(SYS_clone, SIGCHLD | CLONE_FS, 0, 0, 0, 0)
                  : way == BY_CLONE3        ? syscall(SYS_clone3, &arguments, sizeof arguments)
                  : way == BY_UNDERSCORE_FORK ? _Fork()
                                            : fork();
    if (child == 0)
        in_child(memory);
    return child;
}

/* Whether a child, made in this way, sees and changes a copy of its own. */
static int child_has_copy(unsigned char *memory, int way)
{
    memset(memory, 5, MEBIBYTE);
    pid_t child = made(way, memory);
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0 && all(memory, MEBIBYTE, 5);
}

static void memory(void)
{
    unsigned char *mapping = map();
    say("mapped", mapping != MAP_FAILED && all(mapping, MEBIBYTE, 0));
    memset(mapping, 1, MEBIBYTE);
    mapping = (void *)syscall(SYS_mremap, mapping, MEBIBYTE, 8 * MEBIBYTE, MREMAP_MAYMOVE, NULL);
    say("kept when it grows", all(mapping, MEBIBYTE, 1) && all(mapping + MEBIBYTE, 7 * MEBIBYTE, 0));
    say("DONTNEED", syscall(SYS_madvise, mapping, PAGE, MADV_DONTNEED) == 0 && all(mapping, PAGE, 0));
    say("no more", all(mapping + PAGE, MEBIBYTE - PAGE, 1));
    errno = 0;
    say("unknown advice", syscall(SYS_madvise, mapping, PAGE, 999) == -1 && errno == EINVAL);
    void *over = (void *)syscall(SYS_mmap, mapping + 20 * PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
    say("mapped over", over == mapping + 20 * PAGE && all(over, 2 * PAGE, 0) && all(mapping + 22 * PAGE, PAGE, 1));
    say("a hole", syscall(SYS_munmap, mapping + 40 * PAGE, 20 * PAGE) == 0);
    say("around the hole", all(mapping + 39 * PAGE, PAGE, 1) && all(mapping + 60 * PAGE, PAGE, 1));
    over = (void *)syscall(SYS_mmap, mapping + 40 * PAGE, 20 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
    say("the hole is filled", over == mapping + 40 * PAGE && all(over, 20 * PAGE, 0));
    memset(over, 9, 20 * PAGE);
    /* What is mapped next must not be given the same pages. */
    for (int round = 0; round < 40; round++)
        memset(map(), 2, MEBIBYTE);
    say("it stays filled", all(over, 20 * PAGE, 9));
    const char *ways[] = {"fork", "fork by number", "clone by number", "clone3 by number", "_Fork", "clone"};
    for (int way = BY_FORK; way <= BY_FUNCTION; way++)
        for (int turn = 0; turn < 3; turn++)
            say(ways[way], child_has_copy(mapping + MEBIBYTE, way));
    struct iovec part = {mapping + MEBIBYTE, MEBIBYTE};
    int self = syscall(SYS_pidfd_open, getpid(), 0);
    for (int advice = MADV_REMOVE; advice <= MADV_DOFORK; advice++)
        syscall(SYS_process_madvise, self, &part, 1L, advice, 0L);
    close(self);
    say("child after advice", all(part.iov_base, MEBIBYTE, 5) && child_has_copy(part.iov_base, BY_FORK));
    say("unmapped", syscall(SYS_munmap, mapping, 8 * MEBIBYTE) == 0);
    say("child of fork after that", child_has_copy(map(), BY_FORK));
}

static void descriptors(void)
{
    int file = open("/dev/null", O_RDWR);
    say("duplicated", syscall(SYS_dup2, file, 100) == 100 && syscall(SYS_dup3, file, 101, O_CLOEXEC) == 101);
    say("flags", syscall(SYS_fcntl, 101, F_GETFD) == FD_CLOEXEC && syscall(SYS_fcntl, 100, F_GETFD) == 0);
    say("closed", syscall(SYS_close, 100) == 0 && syscall(SYS_close, 100) == -1 && errno == EBADF);
    cpu_set_t set;
    say("processors", syscall(SYS_sched_getaffinity, 0, sizeof set, &set) > 0 && CPU_COUNT_S(8, &set) > 0);
    say("all closed", syscall(SYS_close_range, 3, ~0U, 0) == 0 && syscall(SYS_fcntl, file, F_GETFD) == -1);
    for (int number = 3; number < 1100; number++)
        syscall(SYS_close, number);
    fflush(stdout);
    /* The program that is started is paged: the test counts it. */
    say("started", system("echo another program") == 0);
}

int main(void)
{
    memory();
    descriptors();
    return 0;
}
