/* Maps a terabyte, of which it uses 16 MiB. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

int main(void) {
    unsigned long bytes = 16UL << 20, sum = 0;
    char *memory = mmap(0, 1UL << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (unsigned long i = 0; i < bytes; i += 4096)
        memory[i] = (char)(i >> 12);
    for (unsigned long i = 0; i < bytes; i += 4096)
        sum += (unsigned char)memory[i];
    printf("sum %lu\n", sum);
    return 0;
}
