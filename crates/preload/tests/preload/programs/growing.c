/* Two blocks and two mappings that grow in turn. Says how often each has moved: nothing lies behind the second. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { STEP = 64 << 10, FIRST = 4 * STEP, LAST = 28 * STEP };

static void grow(const char *what, char *grown[2], char *larger(char *, size_t))
{
    int moves[2] = {0, 0};
    for (size_t bytes = FIRST; bytes < LAST; bytes += STEP)
        for (int which = 0; which < 2; which++) {
            grown[which][bytes - 1] = 'x';
            char *next = larger(grown[which], bytes);
            moves[which] += next != grown[which];
            grown[which] = next;
            if (next[bytes - 1] != 'x' || next[bytes] != 0)
                puts("LOST");
        }
    printf("%s: %d %d\n", what, moves[0], moves[1]);
}

static char *larger_block(char *block, size_t bytes)
{
    return realloc(block, bytes + STEP);
}

static char *larger_mapping(char *mapping, size_t bytes)
{
    return mremap(mapping, bytes, bytes + STEP, MREMAP_MAYMOVE);
}

static char *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    char *blocks[2] = {malloc(FIRST), malloc(FIRST)};
    grow("blocks", blocks, larger_block);
    char *mappings[2] = {map(FIRST), map(FIRST)};
    grow("mappings", mappings, larger_mapping);
    return 0;
}
