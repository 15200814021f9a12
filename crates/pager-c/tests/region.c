/* Uses every function of the header; see c_program.rs for what it is called with. Ends with 1 and a sentence if
 * something is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clockhand_pager.h"

enum { PAGES = 256, PAGE_WORDS = 4096 / sizeof(uint64_t), THREADS = 2, STEPS = 4000, DISCARDED = 100 };

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct member {
    const char *name;
    size_t offset;
};

#define MEMBER(type, name) {#type "." #name, offsetof(struct type, name)}
#define SETTING(name) MEMBER(clockhand_settings, name)
#define COUNT(name) MEMBER(clockhand_counts, name)

static const struct member members[] = {
    SETTING(struct_bytes), SETTING(policy), SETTING(swap_path), SETTING(swap_limit_bytes), SETTING(pages),
    SETTING(frames), SETTING(reserve), SETTING(patience_ms),
    {"clockhand_settings", sizeof(struct clockhand_settings)},
    COUNT(references), COUNT(read_references), COUNT(write_references), COUNT(misses), COUNT(read_misses),
    COUNT(write_misses), COUNT(minor_faults), COUNT(write_protect_faults), COUNT(clean_evictions),
    COUNT(dirty_evictions), COUNT(write_backs), COUNT(pages_read), COUNT(pages_zero_filled), COUNT(pages_rescued),
    COUNT(pages_written), COUNT(pages_not_written), COUNT(pages_copied_for_forks), COUNT(discarded_pages),
    COUNT(write_operations), COUNT(write_errors), COUNT(bytes_read), COUNT(bytes_written), COUNT(resident_pages),
    COUNT(peak_resident_pages), COUNT(footprint_pages), COUNT(pages_read_ahead), COUNT(pages_read_in_vain),
    COUNT(zero_pages_not_written), COUNT(read_operations),
    COUNT(sensed_references),
    {"clockhand_counts", sizeof(struct clockhand_counts)},
};

/* Each argument is NAME=OFFSET as the library has it, in the order of the table. */
static void compare_layout(int arguments, char **argument)
{
    CHECK((size_t)arguments == sizeof members / sizeof members[0]);
    for (int index = 0; index < arguments; index++) {
        char expected[128];
        snprintf(expected, sizeof expected, "%s=%zu", members[index].name, members[index].offset);
        if (strcmp(expected, argument[index]) != 0) {
            fprintf(stderr, "the header has %s, the library %s\n", expected, argument[index]);
            exit(1);
        }
    }
}

struct worker {
    uint64_t *memory;
    uint64_t number;
    uint64_t expected[PAGES];
};

/* Reads and writes one word of random pages; threads share pages and not words. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    uint64_t state = worker->number + 1;
    for (uint64_t step = 1; step <= STEPS; step++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t page = (state >> 33) % PAGES;
        volatile uint64_t *word = &worker->memory[page * PAGE_WORDS + worker->number];
        CHECK(*word == worker->expected[page]);
        if (state >> 63) {
            *word = worker->expected[page] = step;
        }
    }
    return NULL;
}

static void expect_refusal(struct clockhand_settings settings, const char *part)
{
    char error[256] = "";
    CHECK(clockhand_region_create(&settings, error, sizeof error) == NULL);
    if (strstr(error, part) == NULL) {
        fprintf(stderr, "expected %s, found %s\n", part, error);
        exit(1);
    }
    char cut[9] = "";
    CHECK(clockhand_region_create(&settings, cut, sizeof cut) == NULL);
    CHECK(strlen(cut) == 8 && strncmp(cut, error, 8) == 0);
    CHECK(clockhand_region_create(&settings, NULL, 0) == NULL);
}

static void refusals(struct clockhand_settings settings)
{
    char error[256] = "";
    CHECK(clockhand_region_create(NULL, error, sizeof error) == NULL);
    settings.struct_bytes -= 1;
    expect_refusal(settings, "sizeof(struct clockhand_settings)");
    settings.struct_bytes += 1;
    settings.policy = NULL;
    expect_refusal(settings, "no policy");
    settings.policy = "lru";
    expect_refusal(settings, "needs every hit");
    settings.policy = "crow";
    expect_refusal(settings, "crow");
    settings.policy = "clock";
    settings.frames = 15;
    expect_refusal(settings, "fewer than 16");
    settings.frames = 32;
    settings.swap_limit_bytes = 1;
    expect_refusal(settings, "holds no page");
}

static void use(struct clockhand_settings settings)
{
    char error[256] = "";
    struct clockhand_region *region = clockhand_region_create(&settings, error, sizeof error);
    if (region == NULL) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    uint64_t *memory = clockhand_region_memory(region);
    CHECK((uintptr_t)memory % 4096 == 0);
    CHECK(clockhand_region_bytes(region) == (size_t)PAGES * 4096);

    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int number = 0; number < THREADS; number++) {
        workers[number].memory = memory;
        workers[number].number = (uint64_t)number;
        CHECK(pthread_create(&threads[number], NULL, work, &workers[number]) == 0);
    }
    for (int number = 0; number < THREADS; number++) {
        CHECK(pthread_join(threads[number], NULL) == 0);
    }

    CHECK(clockhand_region_discard(region, PAGES - 1, 2, error, sizeof error) == -1);
    CHECK(strstr(error, "not all in a region of 256 pages") != NULL);
    CHECK(clockhand_region_discard(region, 0, DISCARDED, error, sizeof error) == 0);
    for (size_t page = 0; page < PAGES; page++) {
        for (int number = 0; number < THREADS; number++) {
            uint64_t expected = page < DISCARDED ? 0 : workers[number].expected[page];
            CHECK(memory[page * PAGE_WORDS + (size_t)number] == expected);
        }
    }
    CHECK(clockhand_region_store_error(region, error, sizeof error) == 0);

    struct clockhand_counts counts;
    clockhand_region_counts(region, &counts, sizeof counts);
    CHECK(counts.references > 0);
    /* A caller with an older and one with a newer header. */
    struct {
        struct clockhand_counts counts;
        uint64_t unknown;
    } newer = {counts, 1};
    clockhand_region_counts(region, &newer.counts, sizeof newer);
    CHECK(newer.unknown == 0);
    uint64_t older[2] = {0, 77};
    clockhand_region_counts(region, (struct clockhand_counts *)older, sizeof older[0]);
    CHECK(older[0] > 0 && older[1] == 77);

    clockhand_region_destroy(region, &counts, sizeof counts);
    CHECK(counts.discarded_pages == DISCARDED && counts.footprint_pages == PAGES);
    CHECK(counts.pages_read > 0 && counts.pages_written > 0 && counts.peak_resident_pages <= settings.frames);
    CHECK(counts.pages_read + counts.pages_zero_filled + counts.pages_rescued == counts.misses);
    CHECK(counts.write_errors == 0);
    const char *bytes = (const char *)&counts;
    for (size_t index = 0; index < sizeof members / sizeof members[0]; index++) {
        uint64_t value;
        if (strncmp(members[index].name, "clockhand_counts.", 17) == 0) {
            memcpy(&value, bytes + members[index].offset, sizeof value);
            printf("%s %llu\n", members[index].name + 17, (unsigned long long)value);
        }
    }
}

/* layout NAME=OFFSET ... | run POLICY FRAMES RESERVE [SWAP-FILE] */
int main(int arguments, char **argument)
{
    CHECK(arguments > 2);
    if (strcmp(argument[1], "layout") == 0) {
        compare_layout(arguments - 2, argument + 2);
        return 0;
    }
    char sentence[256] = "";
    if (clockhand_pager_obstacle(sentence, sizeof sentence) > 0) {
        printf("SKIPPED: %s\n", sentence);
        return 0;
    }
    CHECK(arguments == 5 || arguments == 6);
    struct clockhand_settings settings = {
        .struct_bytes = sizeof settings,
        .policy = argument[2],
        .swap_path = arguments == 6 ? argument[5] : NULL,
        .pages = PAGES,
        .frames = (uint32_t)atoi(argument[3]),
        .reserve = (uint32_t)atoi(argument[4]),
    };
    refusals(settings);
    use(settings);
    return 0;
}
