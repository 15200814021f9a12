/* Takes the address of malloc, which is then in the program itself if that lies at a fixed place. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    void *(*volatile allocate)(size_t) = malloc;
    puts(allocate(10) != NULL ? "1" : "0");
    return 0;
}
