/* Four threads work on the heap and on open files while the main thread forks; parent and child change the same
 * addresses, and neither sees what the other does. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, FORKS = 12, WORDS = 1 << 18 };

static atomic_int stopping;

static void *work(void *argument)
{
    unsigned seed = (unsigned)(long)argument;
    FILE *file = tmpfile();
    while (!stopping) {
        size_t bytes = 1 + rand_r(&seed) % 200000;
        unsigned char *block = malloc(bytes);
        memset(block, (int)bytes, bytes);
        block = realloc(block, bytes * 2);
        for (size_t index = 0; index < bytes; index += 512)
            if (block[index] != (unsigned char)bytes)
                abort();
        fprintf(file, "%zu bytes\n", bytes);
        free(block);
        FILE *other = fopen("/dev/null", "w");
        fputs("other", other);
        fclose(other);
    }
    fclose(file);
    return NULL;
}

static void fill(unsigned *words, unsigned seed)
{
    for (unsigned index = 0; index < WORDS; index++)
        words[index] = seed * 2654435761u + index;
}

static int holds(const unsigned *words, unsigned seed)
{
    for (unsigned index = 0; index < WORDS; index++)
        if (words[index] != seed * 2654435761u + index)
            return 0;
    return 1;
}

static void expect(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "wrong: %s\n", what);
        _exit(9);
    }
}

static int child(unsigned *block, unsigned *mapping, unsigned round)
{
    expect(holds(block, round), "the child sees the block as it was at the fork");
    expect(holds(mapping, round + 100), "the child sees the mapping as it was at the fork");
    fill(block, round + 1000);
    fill(mapping, round + 2000);
    pthread_t thread;
    stopping = 0;
    expect(pthread_create(&thread, NULL, work, (void *)(long)(round + 7)) == 0, "a thread in the child");
    pid_t grandchild = fork();
    if (grandchild == 0) {
        expect(holds(block, round + 1000), "the grandchild sees the child's block");
        fill(block, 5);
        _exit(holds(block, 5) ? 3 : 9);
    }
    int status = 0;
    expect(waitpid(grandchild, &status, 0) == grandchild && WEXITSTATUS(status) == 3, "the grandchild");
    usleep(2000);
    stopping = 1;
    pthread_join(thread, NULL);
    expect(holds(block, round + 1000), "the child's block stays its own");
    expect(holds(mapping, round + 2000), "the child's mapping stays its own");
    return 42;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned *block = malloc(WORDS * sizeof *block);
    unsigned *mapping = mmap(NULL, WORDS * sizeof *mapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long index = 0; index < THREADS; index++)
        pthread_create(&threads[index], NULL, work, (void *)(index + 1));
    for (unsigned round = 0; round < FORKS; round++) {
        fill(block, round);
        fill(mapping, round + 100);
        pid_t process = fork();
        if (process == 0)
            _exit(child(block, mapping, round));
        expect(process > 0, "fork");
        fill(block, round + 3000);
        int status = 0;
        expect(waitpid(process, &status, 0) == process, "waitpid");
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 42, "the child's exit code");
        expect(holds(block, round + 3000), "the parent's block stays its own");
        expect(holds(mapping, round + 100), "the parent's mapping stays its own");
    }
    stopping = 1;
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    puts("private in both directions");
    return 0;
}
