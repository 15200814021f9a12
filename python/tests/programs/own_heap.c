/* Has a malloc of its own, as programs that are linked with another heap. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static char room[1 << 20];
static size_t used;

void *malloc(size_t bytes)
{
    void *block = room + used;
    used += (bytes + 15) & ~(size_t)15;
    return used <= sizeof room ? block : NULL;
}

void free(void *block)
{
    (void)block;
}

int main(void)
{
    char *block = malloc(6);
    memcpy(block, "done\n", 6);
    return write(1, block, 5) == 5 ? 0 : 1;
}
