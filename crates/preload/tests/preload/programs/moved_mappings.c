/* Mappings that mremap() makes larger, or moves to where something else was, keep content and protection. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { MEBIBYTE = 1 << 20, PAGE = 4096, READ_AND_WRITE = PROT_READ | PROT_WRITE };

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

static int can_be_written(volatile unsigned char *byte)
{
    if (sigsetjmp(before, 1))
        return 0;
    *byte = *byte;
    return 1;
}

/* A mapping of one mebibyte that is filled, with no room behind it. */
static unsigned char *filled(unsigned char value)
{
    unsigned char *mapping = mmap(NULL, MEBIBYTE, READ_AND_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *behind = mmap(NULL, MEBIBYTE, READ_AND_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(mapping, value, MEBIBYTE);
    memset(behind, 99, MEBIBYTE);
    return mapping;
}

/* One that is never paged, because it is fixed. */
static unsigned char *fixed(int protection, unsigned char value)
{
    static unsigned char *place = (unsigned char *)0x200000000000;
    place += 16 * MEBIBYTE;
    unsigned char *mapping =
        mmap(place, MEBIBYTE, READ_AND_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    memset(mapping, value, MEBIBYTE);
    mprotect(mapping, MEBIBYTE, protection);
    return mapping;
}

static void grow(void)
{
    unsigned char *mapping = filled(1);
    mprotect(mapping, MEBIBYTE, PROT_NONE);
    unsigned char *moved = mremap(mapping, MEBIBYTE, 8 * MEBIBYTE, MREMAP_MAYMOVE);
    say("without access, moved", moved != MAP_FAILED && !can_be_read(moved) && !can_be_read(moved + 7 * MEBIBYTE));
    mprotect(moved, 8 * MEBIBYTE, PROT_READ);
    say("kept", all(moved, MEBIBYTE, 1) && all(moved + MEBIBYTE, 7 * MEBIBYTE, 0));
    mapping = filled(2);
    mprotect(mapping, MEBIBYTE, PROT_READ);
    moved = mremap(mapping, MEBIBYTE, 8 * MEBIBYTE, MREMAP_MAYMOVE);
    say("read-only, moved", all(moved, MEBIBYTE, 2) && !can_be_written(moved) && !can_be_written(moved + 8 * MEBIBYTE - 1));
    moved = mremap(moved, 8 * MEBIBYTE, 2 * MEBIBYTE, 0);
    say("smaller", all(moved, MEBIBYTE, 2) && !can_be_written(moved));
    unsigned char *grown = mremap(moved, 2 * MEBIBYTE, 3 * MEBIBYTE, MREMAP_MAYMOVE);
    say("larger again", all(grown, MEBIBYTE, 2) && !can_be_written(grown + 3 * MEBIBYTE - 1));
    mapping = filled(3);
    mprotect(mapping + 4 * PAGE, PAGE, PROT_READ);
    errno = 0;
    say("parts that differ", mremap(mapping, MEBIBYTE, 8 * MEBIBYTE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
}

static void fix(unsigned char *from, unsigned char *onto, const char *what)
{
    unsigned char *moved = mremap(from, MEBIBYTE, MEBIBYTE, MREMAP_MAYMOVE | MREMAP_FIXED, onto);
    printf("%s: ", what);
    say("moved there", moved == onto && all(moved, MEBIBYTE, 4) && can_be_written(moved));
    memset(moved, 5, MEBIBYTE);
    /* What is mapped next must not be given the same pages. */
    for (int round = 0; round < 8; round++)
        filled(6);
    printf("%s: ", what);
    say("stays there", all(moved, MEBIBYTE, 5));
    printf("%s: ", what);
    say("unmapped", munmap(moved, MEBIBYTE) == 0);
}

static void moves(void)
{
    fix(filled(4), filled(0), "paged onto paged");
    fix(filled(4), fixed(PROT_NONE, 0), "paged onto another");
    fix(fixed(READ_AND_WRITE, 4), filled(0), "another onto paged");
    unsigned char *onto = filled(0);
    unsigned char *moved = mremap(fixed(PROT_READ, 4), MEBIBYTE, MEBIBYTE, MREMAP_MAYMOVE | MREMAP_FIXED, onto);
    say("read-only there", moved == onto && all(moved, MEBIBYTE, 4) && !can_be_written(moved));
    unsigned char *mapping = filled(7);
    errno = 0;
    say("onto itself", mremap(mapping, MEBIBYTE, MEBIBYTE, MREMAP_MAYMOVE | MREMAP_FIXED, mapping + PAGE) == MAP_FAILED && errno == EINVAL);
    errno = 0;
    say("no leave to move", mremap(mapping, MEBIBYTE, MEBIBYTE, MREMAP_FIXED, filled(0)) == MAP_FAILED && errno == EINVAL);
    errno = 0;
    say("unknown flag", mremap(mapping, MEBIBYTE, MEBIBYTE, 128) == MAP_FAILED && errno == EINVAL);
    moved = mremap(mapping, MEBIBYTE, MEBIBYTE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    say("left empty", moved != MAP_FAILED && moved != mapping && all(moved, MEBIBYTE, 7) && all(mapping, MEBIBYTE, 0));
}

int main(void)
{
    signal(SIGSEGV, faulted);
    grow();
    moves();
    return 0;
}
