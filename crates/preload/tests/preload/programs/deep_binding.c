/* A library that is opened with RTLD_DEEPBIND frees what the program allocated. Compiled twice: as the library with LIBRARY. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIBRARY

char *exchange(char *block)
{
    char *other = realloc(block, 5000);
    free(other);
    return strcpy(malloc(200), "of the library");
}

#else

static void use(void *library)
{
    if (library == NULL) {
        puts(dlerror());
        exit(1);
    }
    char *(*exchange)(char *) = (char *(*)(char *))dlsym(library, "exchange");
    for (int round = 0; round < 100; round++) {
        char *block = malloc(200 + 1000 * round);
        memset(block, round, 200 + 1000 * round);
        char *other = exchange(block);
        if (strcmp(other, "of the library") != 0)
            puts("NO");
        free(other);
    }
    puts("exchanged");
}

int main(int count, char **arguments)
{
    (void)count;
    use(dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND));
    use(dlmopen(LM_ID_BASE, arguments[2], RTLD_NOW | RTLD_DEEPBIND));
    /* Found in the search path of the program, as it is for who calls the C library itself. */
    use(dlopen("libfound.so", RTLD_NOW | RTLD_DEEPBIND));
    return 0;
}

#endif
