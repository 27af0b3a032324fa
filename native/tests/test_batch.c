/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of several GPUs is seen whole or not at all: by readers beside the writer, and after the writer was killed. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "writer.h"

enum { ALL_ROUNDS = 400, KILLS = 300 };
static const uint64_t ALL = UINT64_MAX;

static struct gs_inventory *inventory; /* shared with children */
static int stop;

static uint64_t seed_of(uint32_t slot) {
    struct gs_state state;
    gs_read_state(gs_gpu_at(inventory, slot), &state);
    return state.seed == state.memory_used && state.seed == state.energy.value ? state.seed
                                                                               : UINT64_MAX;
}

static void write_round(uint64_t slots, uint64_t round) {
    static struct gs_state states[GS_SLOTS];
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        gs_read_state(gs_gpu_at(inventory, slot), &states[slot]);
        states[slot].seed = states[slot].memory_used = states[slot].energy.value = round;
    }
    gs_write_states(inventory, slots, states);
}

static unsigned different(void) {
    unsigned count = 0;
    for (uint32_t slot = 1; slot < GS_SLOTS; slot++) {
        count += seed_of(slot) != seed_of(0);
    }
    return count;
}

static void *write_rounds(void *unused) {
    (void)unused;
    for (uint64_t round = 1; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); round++) {
        write_round(ALL, round);
        usleep(1);
    }
    return NULL;
}

/* Whoever saw a round on one GPU never finds an older one on another. */
static void beside_a_writer(void) {
    pthread_t thread;
    uint64_t seen = 0, older = 0, torn = 0;
    CHECK_NUMBER(pthread_create(&thread, NULL, write_rounds, NULL), 0);
    for (uint32_t i = 0; seen < ALL_ROUNDS; i++) {
        uint32_t slot = i * 37 % GS_SLOTS;
        uint64_t found = i % 2 ? seed_of(slot) : gs_state_now(gs_gpu_at(inventory, slot))->seed;
        torn += found == UINT64_MAX;
        older += found < seen;
        seen = found > seen && found != UINT64_MAX ? found : seen;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_NUMBER(torn, 0);
    CHECK_NUMBER(older, 0);
    CHECK_NUMBER(different(), 0);
}

/* Nothing tidies up between the kill and the look. */
static void after_a_killed_writer(void) {
    unsigned mixtures = 0, halves = 0;
    srand(7);
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t writer = fork();
        if (!writer) {
            for (uint64_t round = 1;; round++) {
                write_round(ALL, round);
            }
        }
        usleep(200 + (useconds_t)(rand() % 2000));
        kill(writer, SIGKILL);
        CHECK_NUMBER(waitpid(writer, NULL, 0), writer);
        mixtures += different() != 0;
        for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
            halves += gs_gpu_at(inventory, slot)->batch.number != 0;
        }
        uint64_t before = seed_of(5);
        gs_end_batch(inventory);
        CHECK_NUMBER(seed_of(5), before);
        mixtures += different() != 0;
    }
    CHECK_NUMBER(mixtures, 0);
    CHECK(halves > 0); /* some died in between */
}

static void announce(uint32_t slot, uint32_t number, uint32_t sequence, uint64_t round) {
    struct gs_gpu *gpu = gs_gpu_of(inventory, slot);
    struct gs_state *next = &gpu->state[!gs_flip(&gpu->state_flip)];
    next->seed = next->memory_used = next->energy.value = round;
    gpu->batch.sequence = sequence;
    gpu->batch.number = number;
}

/* A batch that never came into force must not do so with the next, which has its number. */
static void what_was_only_announced_is_forgotten(void) {
    write_round(ALL, 10);
    uint32_t number = inventory->header.batch + 1;
    announce(3, number, gs_gpu_at(inventory, 3)->state_flip.sequence + 1, 11);
    CHECK_NUMBER(seed_of(3), 10);
    write_round((uint64_t)1 << 4, 12);
    CHECK_NUMBER(inventory->header.batch, number);
    CHECK_NUMBER(seed_of(3), 10);
    CHECK_NUMBER(seed_of(4), 12);
    announce(3, number + 1, gs_gpu_at(inventory, 3)->state_flip.sequence + 1, 13);
    struct gs_state state;
    gs_read_state(gs_gpu_at(inventory, 3), &state);
    state.seed = state.memory_used = state.energy.value = 14;
    gs_write_state(gs_gpu_of(inventory, 3), &state);
    inventory->header.batch++;
    CHECK_NUMBER(seed_of(3), 14);
}

/* As left by a writer of an earlier release, which knows only of state_flip. */
static void a_flip_that_went_past_its_batch_counts(void) {
    write_round(ALL, 20);
    announce(6, inventory->header.batch, gs_gpu_at(inventory, 6)->state_flip.sequence, 21);
    CHECK_NUMBER(seed_of(6), 20);
    gs_end_batch(inventory);
    CHECK_NUMBER(seed_of(6), 20);
}

static void numbers_go_round(void) {
    inventory->header.batch = UINT32_MAX;
    write_round(ALL, 30);
    CHECK_NUMBER(inventory->header.batch, 1);
    CHECK_NUMBER(different(), 0);
    CHECK_NUMBER(seed_of(0), 30);
}

static void events_come_together(void) {
    const struct gs_ring *ring = &inventory->header.ring;
    struct gs_event events[3] = {{.slot = 1, .type = 8, .data = 79},
                                 {.slot = 2, .type = 8, .data = 48},
                                 {.slot = 0, .type = 2, .data = 0}};
    uint64_t head = ring->head;
    uint32_t word = ring->futex;
    gs_raise_events(inventory, events, 3);
    CHECK_NUMBER(ring->head, head + 3);
    CHECK_NUMBER(ring->futex, word + 1);
    for (uint64_t i = 0; i < 3; i++) {
        const struct gs_event *event = &ring->events[(head + i) % GS_EVENTS];
        CHECK_NUMBER(event->sequence, head + i + 1);
        CHECK_NUMBER(event->slot, events[i].slot);
        CHECK_NUMBER(event->data, events[i].data);
    }
}

static void a_batch_that_points_elsewhere_is_refused(void) {
    struct gs_error error = {""};
    struct gs_batch *batch = &gs_gpu_of(inventory, 9)->batch;
    CHECK_NUMBER(gs_validate(inventory, gs_inventory_size(), "f", &error), 0);
    batch->header += 4;
    CHECK_NUMBER(gs_validate(inventory, gs_inventory_size(), "f", &error), -1);
    CHECK_TEXT(error.text, "f: a batch that points outside of its header; run the installer again");
    batch->header = 0; /* never part of one */
    CHECK_NUMBER(gs_validate(inventory, gs_inventory_size(), "f", &error), 0);
}

int main(void) {
    struct gs_spec spec;
    inventory =
        mmap(NULL, gs_inventory_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    gs_spec_default(&spec);
    CHECK_NUMBER(gs_build(&spec, inventory, gs_inventory_size(), NULL), 0);
    write_round(ALL, 0);
    beside_a_writer();
    after_a_killed_writer();
    what_was_only_announced_is_forgotten();
    a_flip_that_went_past_its_batch_counts();
    numbers_go_round();
    events_come_together();
    a_batch_that_points_elsewhere_is_refused();
    return check_result();
}
