/* Every function of the malloc and mmap families, in the ways that programs use them. Prints what must not depend on
 * where the memory comes from. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MEBIBYTE = 1 << 20, PAGE = 4096 };

static void say(const char *what, int condition)
{
    printf("%s: %s\n", what, condition ? "yes" : "NO");
}

static int all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t index = 0; index < count; index++)
        if (bytes[index] != value)
            return 0;
    return 1;
}

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void blocks(void)
{
    static const size_t sizes[] = {0, 1, 24, 4000, 70000, 131072, 300000, 5000000};
    for (unsigned index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        size_t bytes = sizes[index];
        unsigned char *block = malloc(bytes);
        say("aligned to 16", (uintptr_t)block % 16 == 0);
        size_t usable = malloc_usable_size(block);
        say("usable", usable >= bytes);
        memset(block, 0xab, usable);
        block = realloc(block, bytes * 3 + 1);
        say("kept when it grows", all(block, bytes, 0xab));
        block = realloc(block, bytes / 2 + 1);
        say("kept when it shrinks", all(block, bytes / 2, 0xab));
        free(block);
        unsigned char *zeros = calloc(bytes + 1, 3);
        say("zeros", all(zeros, (bytes + 1) * 3, 0));
        memset(zeros, 0xff, (bytes + 1) * 3);
        free(zeros);
    }
    for (size_t alignment = sizeof(void *); alignment <= 4 * MEBIBYTE; alignment *= 4) {
        void *aligned = NULL;
        int result = posix_memalign(&aligned, alignment, 200000);
        say("aligned as asked", result == 0 && (uintptr_t)aligned % alignment == 0);
        memset(aligned, 1, 200000);
        aligned = realloc(aligned, 400000);
        say("kept when realigned", all(aligned, 200000, 1));
        free(aligned);
        unsigned char *small = memalign(alignment, 100);
        say("small aligned as asked", (uintptr_t)small % alignment == 0);
        memset(small, 2, malloc_usable_size(small));
        free(small);
    }
    void *untouched = &untouched;
    say("EINVAL for a wrong alignment", posix_memalign(&untouched, 24, 10) == EINVAL && untouched == &untouched);
    say("aligned_alloc", (uintptr_t)aligned_alloc(256, 512) % 256 == 0);
    say("valloc", (uintptr_t)valloc(10) % PAGE == 0);
    say("pvalloc", malloc_usable_size(pvalloc(10)) >= PAGE);
    errno = 0;
    volatile size_t huge = (size_t)1 << 60;
    say("ENOMEM for a huge block", malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    say("ENOMEM for an overflowing array", reallocarray(NULL, huge, 64) == NULL && errno == ENOMEM);
    errno = 0;
    say("ENOMEM for overflowing zeros", calloc(huge, 64) == NULL && errno == ENOMEM);
    errno = EDOM;
    free(malloc(5 * MEBIBYTE));
    say("free leaves errno alone", errno == EDOM);
}

static void mappings(void)
{
    unsigned char *mapping = map(MEBIBYTE);
    say("a mapping of zeros", all(mapping, MEBIBYTE, 0));
    memset(mapping, 7, MEBIBYTE);
    mapping = mremap(mapping, MEBIBYTE, 3 * MEBIBYTE, MREMAP_MAYMOVE);
    say("kept when it grows", all(mapping, MEBIBYTE, 7) && all(mapping + MEBIBYTE, 2 * MEBIBYTE, 0));
    memset(mapping, 8, 3 * MEBIBYTE);
    say("shrinks in place", mremap(mapping, 3 * MEBIBYTE, 2 * MEBIBYTE, 0) == mapping);
    say("kept when it shrinks", all(mapping, 2 * MEBIBYTE, 8));
    say("DONTNEED", madvise(mapping + PAGE, 10 * PAGE, MADV_DONTNEED) == 0);
    say("forgotten, and no more", all(mapping, PAGE, 8) && all(mapping + PAGE, 10 * PAGE, 0) && all(mapping + 11 * PAGE, PAGE, 8));
    void *over = mmap(mapping + 20 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    say("mapped over", over == mapping + 20 * PAGE && all(over, 2 * PAGE, 0) && all(mapping + 22 * PAGE, PAGE, 8));
    say("other advice", madvise(mapping, MEBIBYTE, MADV_WILLNEED) == 0 && madvise(mapping, MEBIBYTE, MADV_HUGEPAGE) == 0);
    say("protected", mprotect(mapping + 30 * PAGE, PAGE, PROT_NONE) == 0);
    errno = 0;
    int zero = open("/dev/zero", O_RDONLY);
    say("the kernel heeds it", read(zero, mapping + 30 * PAGE, 10) == -1 && errno == EFAULT);
    say("unprotected", mprotect(mapping + 30 * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0 && all(mapping + 30 * PAGE, PAGE, 8));
    say("the kernel writes", read(zero, mapping + 32 * PAGE, PAGE + 5) == PAGE + 5 && all(mapping + 32 * PAGE, PAGE + 5, 0));
    close(zero);
    mprotect(mapping + 40 * PAGE, 2 * PAGE, PROT_READ);
    say("a hole", munmap(mapping + 40 * PAGE, 20 * PAGE) == 0);
    say("around the hole", all(mapping + 39 * PAGE, PAGE, 8) && all(mapping + 60 * PAGE, PAGE, 8));
    say("the rest", munmap(mapping, 2 * MEBIBYTE) == 0);
    for (int round = 0; round < 20; round++) {
        unsigned char *again = map((round % 4 + 1) * MEBIBYTE);
        if (!all(again, (round % 4 + 1) * MEBIBYTE, 0))
            say("zeros again", 0);
        memset(again, round + 1, (round % 4 + 1) * MEBIBYTE);
        if (round % 3)
            munmap(again, (round % 4 + 1) * MEBIBYTE);
    }
    say("unaligned", munmap(mapping + 1, PAGE) == -1 && errno == EINVAL);
    say("one too large", map((size_t)1 << 60) == MAP_FAILED && errno == ENOMEM);
}

static int compare(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

static void library(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    for (int number = 0; number < 50000; number++)
        fprintf(stream, "%d ", number);
    fclose(stream);
    char *copy = strdup(text);
    say("strdup", strcmp(copy, text) == 0 && strlen(copy) == bytes);
    char *formatted = NULL;
    say("asprintf", asprintf(&formatted, "%s|%s", text, copy) == (int)(2 * bytes + 1));
    char *line = malloc(1);
    size_t line_bytes = 1;
    FILE *reader = fmemopen(formatted, 2 * bytes + 1, "r");
    say("getline", getline(&line, &line_bytes, reader) == (ssize_t)(2 * bytes + 1));
    fclose(reader);
    free(line);
    free(formatted);
    free(copy);
    free(text);
    enum { COUNT = 200000 };
    uint64_t *numbers = malloc(COUNT * sizeof *numbers);
    for (uint64_t index = 0; index < COUNT; index++)
        numbers[index] = index * 0x9E3779B97F4A7C15u;
    qsort(numbers, COUNT, sizeof *numbers, compare);
    int sorted = 1;
    for (int index = 1; index < COUNT; index++)
        sorted &= numbers[index - 1] <= numbers[index];
    say("sorted", sorted);
    free(numbers);
    say("trimmed", malloc_trim(0) >= 0);
}

/* Without descriptors nothing can be asked of a pager, and memory is as zero as ever. */
static void without_descriptors(void)
{
    struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    unsigned char *mapping = map(MEBIBYTE);
    memset(mapping, 9, MEBIBYTE);
    say("forgotten", madvise(mapping, 4 * PAGE, MADV_DONTNEED) == 0 && all(mapping, 4 * PAGE, 0) && mapping[4 * PAGE] == 9);
    munmap(mapping, MEBIBYTE);
    mapping = map(MEBIBYTE);
    say("zeros", all(mapping, MEBIBYTE, 0));
    unsigned char *block = malloc(40 * MEBIBYTE);
    memset(block, 9, 40 * MEBIBYTE);
    free(block);
    block = calloc(40, MEBIBYTE);
    say("a block of zeros", all(block, 40 * MEBIBYTE, 0));
    free(block);
}

int main(void)
{
    blocks();
    mappings();
    library();
    without_descriptors();
    return 0;
}
