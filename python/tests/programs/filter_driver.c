/* Puts accesses through the cache filter of the front ends and writes the stream that they would.
 *
 * Arguments: the stream's file; `all` to filter every access, or `compared` to leave out those that
 * a front end leaves out; instruction bytes, data bytes, ways, line bytes, second-level bytes,
 * second-level ways. Standard input: per access a kind (0 fetch, 1 load, 2 store), the address and
 * the bytes, as three 64-bit numbers. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *output;

static int stream_write(const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, output) == count;
}

static uint64_t stream_time_ns(void)
{
    return 0;
}

#include "capture_stream.h"

static struct stream stream;

static void filter_emit(unsigned record_class, uint64_t line)
{
    stream_record(&stream, record_class, line);
}

static void *filter_allocate(size_t bytes)
{
    return calloc(1, bytes);
}

#include "cache_filter.h"

static struct filter filter;

static int is_within(uint64_t line_at, const uint64_t *access)
{
    return access[2] != 0 && access[2] <= filter.line_bytes
        && access[1] - line_at <= filter.line_bytes - access[2];
}

int main(int count, char **arguments)
{
    if (count != 9 || (output = fopen(arguments[1], "wb")) == NULL)
        return 2;
    int is_compared = strcmp(arguments[2], "compared") == 0;
    struct filter_shape shape = {
        .instruction_bytes = strtoull(arguments[3], NULL, 10),
        .data_bytes = strtoull(arguments[4], NULL, 10),
        .ways = strtoull(arguments[5], NULL, 10),
        .line_bytes = strtoull(arguments[6], NULL, 10),
        .second_bytes = strtoull(arguments[7], NULL, 10),
        .second_ways = strtoull(arguments[8], NULL, 10),
    };
    if (!filter_open(&filter, &shape))
        return 3;
    char header[64];
    int bytes = snprintf(header, sizeof header, "line_bytes=%s\ncommand=driver\n", arguments[6]);
    stream_begin(&stream, header, (size_t)bytes);
    uint64_t access[3];
    while (fread(access, sizeof *access, 3, stdin) == 3) {
        if (access[0] == 0 && !(is_compared && is_within(filter.last_fetch_line_at, access)))
            filter_fetch(&filter, access[1], access[2]);
        if (access[0] == 1 && !(is_compared && is_within(filter.last_data_line_at, access)))
            filter_load(&filter, access[1], access[2]);
        if (access[0] == 2 && !(is_compared && is_within(filter.last_store_line_at, access)))
            filter_store(&filter, access[1], access[2]);
    }
    stream_flush(&stream);
    const char footer[] = "end=exit\nexit_code=0\n";
    stream_block(&stream, 'F', 0, footer, strlen(footer));
    return fclose(output) == 0 && !stream.failed ? 0 : 1;
}
