/* Takes and frees memory in small and in growing blocks. Prints whether little of it is still there afterwards, mapped or
 * not: of paged memory that is what the pager has not been told to forget. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 50000, BYTES = 1000, PAGE = 4096 };

static int resident_pages(uintptr_t lowest, uintptr_t highest)
{
    int pages = 0;
    for (uintptr_t page = lowest / PAGE * PAGE; page < highest; page += PAGE) {
        unsigned char resident = 0;
        pages += mincore((void *)page, PAGE, &resident) == 0 && resident & 1;
    }
    return pages;
}

int main(void)
{
    static char *blocks[BLOCKS];
    for (int round = 0; round < 3; round++) {
        uintptr_t lowest = UINTPTR_MAX, highest = 0;
        for (int index = 0; index < BLOCKS; index++) {
            blocks[index] = memset(malloc(BYTES), index, BYTES);
            uintptr_t address = (uintptr_t)blocks[index];
            lowest = address < lowest ? address : lowest;
            highest = address > highest ? address : highest;
        }
        for (int index = BLOCKS; index-- > 0;)
            free(blocks[index]);
        printf("little is left: %s\n", resident_pages(lowest, highest) < BLOCKS / (PAGE / BYTES) / 2 ? "yes" : "NO");
        for (size_t bytes = 1 << round; bytes < 4 << 20; bytes += bytes / 2 + 100)
            free(memset(malloc(bytes), 1, bytes));
    }
    return 0;
}
