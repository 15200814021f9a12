/* Memory that is reserved without rights and committed later, and what is mapped over reserved memory. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, PAGE = 4096, READ_AND_WRITE = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS };

static void say(const char *what, int condition)
{
    printf("%s: %s\n", what, condition ? "yes" : "NO");
    fflush(stdout);
}

static sigjmp_buf before;

static void faulted(int number)
{
    (void)number;
    siglongjmp(before, 1);
}

static int can_be_read(volatile unsigned char *byte)
{
    if (sigsetjmp(before, 1))
        return 0;
    (void)*byte;
    return 1;
}

static int all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t index = 0; index < count; index++)
        if (bytes[index] != value)
            return 0;
    return 1;
}

static unsigned char *reserve(size_t bytes)
{
    return mmap(NULL, bytes, PROT_NONE, ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static int file_of(unsigned char value)
{
    unsigned char content[4 * PAGE];
    memset(content, value, sizeof content);
    int file = memfd_create("file", 0);
    if (write(file, content, sizeof content) != sizeof content)
        exit(1);
    return file;
}

/* As V8 does. */
static void commit_by_protection(void)
{
    unsigned char *memory = reserve(16 * MEBIBYTE);
    say("reserved memory cannot be read", !can_be_read(memory));
    say("it is committed", mprotect(memory + MEBIBYTE, MEBIBYTE, READ_AND_WRITE) == 0);
    say("it is zeros", all(memory + MEBIBYTE, MEBIBYTE, 0));
    memset(memory + MEBIBYTE, 7, MEBIBYTE);
    say("its neighbour cannot be read", !can_be_read(memory + 2 * MEBIBYTE));
    mprotect(memory + MEBIBYTE, MEBIBYTE, PROT_NONE);
    say("it can be taken back", !can_be_read(memory + MEBIBYTE));
    mprotect(memory + MEBIBYTE, MEBIBYTE, PROT_READ);
    say("it keeps its content", all(memory + MEBIBYTE, MEBIBYTE, 7));
    say("a part is given back", munmap(memory + MEBIBYTE, 2 * MEBIBYTE) == 0);
    munmap(memory, MEBIBYTE);
    munmap(memory + 3 * MEBIBYTE, 13 * MEBIBYTE);
    unsigned char *next = mmap(NULL, 16 * MEBIBYTE, READ_AND_WRITE, ANONYMOUS, -1, 0);
    say("what comes after it is zeros and can be written", all(next, 16 * MEBIBYTE, 0) && (next[5] = 1));
    munmap(next, 16 * MEBIBYTE);
}

/* As Java and Go do. */
static void commit_by_mapping(void)
{
    unsigned char *memory = reserve(16 * MEBIBYTE);
    say("mapped over", mmap(memory, 2 * MEBIBYTE, READ_AND_WRITE, ANONYMOUS | MAP_FIXED, -1, 0) == memory);
    memset(memory, 9, 2 * MEBIBYTE);
    say("taken back", mmap(memory, MEBIBYTE, PROT_NONE, ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == memory);
    say("the part cannot be read", !can_be_read(memory));
    say("the rest is kept", all(memory + MEBIBYTE, MEBIBYTE, 9));
    mmap(memory, MEBIBYTE, READ_AND_WRITE, ANONYMOUS | MAP_FIXED, -1, 0);
    say("committed again it is zeros", all(memory, MEBIBYTE, 0));
    say("code can be put there", mprotect(memory, PAGE, READ_AND_WRITE | PROT_EXEC) == 0);
    static const unsigned char returns_42[] = {0xb8, 42, 0, 0, 0, 0xc3};
    memcpy(memory, returns_42, sizeof returns_42);
    int (*function)(void) = (int (*)(void))(void *)memory;
    say("and run", function() == 42);
    munmap(memory, 16 * MEBIBYTE);
}

/* A ring whose end is its beginning, and a file. */
static void map_others(void)
{
    unsigned char *memory = reserve(16 * MEBIBYTE);
    unsigned char *used = memory + 8 * MEBIBYTE, *ring = memory + MEBIBYTE, *file = memory + 4 * MEBIBYTE;
    mprotect(used, MEBIBYTE, READ_AND_WRITE);
    memset(used, 3, MEBIBYTE);
    say("what cannot be opened is not mapped", mmap(used, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
    say("and nothing is lost", all(used, MEBIBYTE, 3));
    int shared = file_of(1), private = file_of(2);
    for (int half = 0; half < 2; half++) {
        unsigned char *place = ring + half * 4 * PAGE;
        say("shared memory", mmap(place, 4 * PAGE, READ_AND_WRITE, MAP_SHARED | MAP_FIXED, shared, 0) == place);
    }
    ring[5] = 77;
    say("is in both places", ring[4 * PAGE + 5] == 77 && ring[6] == 1);
    say("a file", mmap(file, 4 * PAGE, READ_AND_WRITE, MAP_PRIVATE | MAP_FIXED, private, 0) == file);
    say("has its content", all(file, 4 * PAGE, 2));
    file[0] = 88;
    say("part of what is used is replaced", mmap(used, 2 * PAGE, READ_AND_WRITE, MAP_PRIVATE | MAP_FIXED, private, 0) == used);
    say("by this", all(used, 2 * PAGE, 2) && all(used + 2 * PAGE, MEBIBYTE - 2 * PAGE, 3));
    used[1] = 99;
    madvise(file, PAGE, MADV_DONTNEED);
    say("advice has its effect there", all(file, PAGE, 2));
    file[0] = 88;
    pid_t child = fork();
    if (child == 0) {
        int is_right = ring[5] == 77 && file[0] == 88 && used[1] == 99 && all(used + 2 * PAGE, MEBIBYTE - 2 * PAGE, 3);
        ring[9] = 55;
        file[0] = 66;
        used[1] = 66;
        used[2 * PAGE] = 66;
        unsigned char *own = malloc(MEBIBYTE);
        memset(own, 5, MEBIBYTE);
        _exit(is_right && all(own, MEBIBYTE, 5) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    say("a child has all of it", status == 0);
    say("shares what is shared", ring[9] == 55);
    say("and nothing else", file[0] == 88 && used[1] == 99 && used[2 * PAGE] == 3);
    unsigned char *moved = mremap(file, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    say("a file that is moved", moved != MAP_FAILED && moved[0] == 88);
    say("leaves its place", !can_be_read(file));
    say("what was there is ended", munmap(ring, 8 * PAGE) == 0 && !can_be_read(ring));
    say("and can be mapped again", mmap(ring, 8 * PAGE, READ_AND_WRITE, ANONYMOUS | MAP_FIXED, -1, 0) == ring);
    say("as zeros", all(ring, 8 * PAGE, 0) && (ring[0] = 1));
    munmap(memory, 16 * MEBIBYTE);
    say("it is ended with all", !can_be_read(ring));
    unsigned char *next = malloc(8 * MEBIBYTE);
    memset(next, 4, 8 * MEBIBYTE);
    say("the heap goes on", all(next, 8 * MEBIBYTE, 4));
    free(next);
}

int main(void)
{
    struct sigaction action = {.sa_handler = faulted, .sa_flags = SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    commit_by_protection();
    commit_by_mapping();
    for (int round = 0; round < 3; round++)
        map_others();
    return 0;
}
