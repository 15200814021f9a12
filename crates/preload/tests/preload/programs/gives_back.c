/* Takes and frees memory in small and in growing blocks. Prints whether what is mapped of shared memory, which paged
 * memory is, has become little again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 50000, BYTES = 1000 };

static int shared_kib(void)
{
    char line[200];
    int kib = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        sscanf(line, "RssShmem: %d", &kib);
    fclose(status);
    return kib;
}

int main(void)
{
    static char *blocks[BLOCKS];
    for (int round = 0; round < 3; round++) {
        for (int index = 0; index < BLOCKS; index++)
            blocks[index] = memset(malloc(BYTES), index, BYTES);
        for (int index = 0; index < BLOCKS; index++)
            free(blocks[index]);
        printf("little after small blocks: %s\n", shared_kib() < 4096 ? "yes" : "NO");
        for (size_t bytes = 1 << round; bytes < 20 << 20; bytes += bytes / 2 + 100)
            free(memset(malloc(bytes), 1, bytes));
    }
    return 0;
}
