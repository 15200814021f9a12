/* Writes and reads its memory until it is ended. Says when it has begun. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 16 << 20 };

int main(void)
{
    volatile unsigned char *memory = malloc(BYTES);
    for (unsigned char round = 1;; round++) {
        for (size_t index = 0; index < BYTES; index += 1024)
            memory[index] = round;
        for (size_t index = 0; index < BYTES; index += 1024)
            if (memory[index] != round)
                return 3;
        if (round == 1 && write(STDOUT_FILENO, "begun\n", 6) != 6)
            return 4;
    }
}
