/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores into an inventory in use, see writer.h. */
#include "writer.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reader.h"

struct gs_gpu *gs_gpu_of(struct gs_inventory *inventory, uint32_t slot) {
    return (struct gs_gpu *)(uintptr_t)gs_gpu_at(inventory, slot);
}

/* Takes over what a batch announced, or forgets it where that never came into force. The flip comes first: a reader that
 * still finds the batch finds it done. */
static void end_batch(struct gs_gpu *gpu) {
    uint32_t number = gpu->batch.number;
    if (!number) {
        return;
    }
    if (gs_batch_done(&gpu->batch, number, gpu->state_flip.sequence)) {
        gs_flip_publish(&gpu->state_flip);
    }
    __atomic_store_n(&gpu->batch.number, 0, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void gs_end_batch(struct gs_inventory *inventory) {
    for (uint32_t slot = 0; slot < inventory->header.gpu_slots; slot++) {
        end_batch(gs_gpu_of(inventory, slot));
    }
}

void gs_write_state(struct gs_gpu *gpu, const struct gs_state *state) {
    end_batch(gpu);
    gpu->state[!gs_flip(&gpu->state_flip)] = *state;
    gs_flip_publish(&gpu->state_flip);
}

static void announce(struct gs_gpu *gpu, const uint32_t *done, uint32_t number,
                     const struct gs_state *state) {
    gpu->state[!gs_flip(&gpu->state_flip)] = *state;
    gpu->batch.header = (const char *)done - (const char *)&gpu->batch;
    __atomic_store_n(&gpu->batch.sequence, gpu->state_flip.sequence + 1u, __ATOMIC_RELEASE);
    __atomic_store_n(&gpu->batch.number, number, __ATOMIC_RELEASE);
}

void gs_write_states(struct gs_inventory *inventory, uint64_t slots,
                     const struct gs_state states[GS_SLOTS]) {
    uint32_t *done = &inventory->header.batch;
    uint32_t number = *done == UINT32_MAX ? 1 : *done + 1;
    gs_end_batch(inventory);
    for (uint32_t slot = 0; slot < inventory->header.gpu_slots; slot++) {
        if (slots >> slot & 1) {
            announce(gs_gpu_of(inventory, slot), done, number, &states[slot]);
        }
    }
    __atomic_store_n(done, number, __ATOMIC_RELEASE);
    gs_end_batch(inventory);
}

void gs_write_allocation(struct gs_gpu *gpu, const struct gs_allocation *allocation) {
    gpu->allocation[!gs_flip(&gpu->allocation_flip)] = *allocation;
    gs_flip_publish(&gpu->allocation_flip);
}

static void write_event(struct gs_ring *ring, uint64_t place, const struct gs_event *given) {
    struct gs_event *event = &ring->events[place % GS_EVENTS];
    __atomic_store_n(&event->sequence, 0, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    event->slot = given->slot;
    event->type = given->type;
    event->data = given->data;
    event->gpu_instance = event->compute_instance = 0xFFFFFFFFu;
    __atomic_store_n(&event->sequence, place + 1, __ATOMIC_RELEASE);
}

void gs_raise_events(struct gs_inventory *inventory, const struct gs_event *events,
                     uint32_t count) {
    struct gs_ring *ring = &inventory->header.ring;
    for (uint32_t i = 0; i < count; i++) {
        write_event(ring, ring->head + i, &events[i]);
    }
    __atomic_store_n(&ring->head, ring->head + count, __ATOMIC_RELEASE);
    __atomic_add_fetch(&ring->futex, 1, __ATOMIC_ACQ_REL);
    syscall(SYS_futex, &ring->futex, FUTEX_WAKE, 0x7FFFFFFF, NULL, NULL, 0);
}

void gs_replay(struct gs_inventory *inventory, uint64_t from, uint64_t until_ns) {
    struct gs_ring *ring = &inventory->header.ring;
    __atomic_store_n(&ring->replay_from, from, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->replay_until_ns, until_ns, __ATOMIC_RELEASE);
}

/* A reader that finds the function reads the rest and looks at function and id again: so the function goes
 * first and comes last. The end of the list stays where it is, or a reader would miss what follows. */
static void write_place(struct gs_fault *fault, struct gs_fault_detail *detail,
                        const struct gs_fault *new_fault,
                        const struct gs_fault_detail *new_detail) {
    uint32_t function = new_fault->function ? new_fault->function : GS_NO_FUNCTION;
    if (fault->function == function &&
        !memcmp(&fault->code, &new_fault->code, sizeof fault->code) &&
        !memcmp(detail, new_detail, sizeof *detail)) {
        return;
    }
    if (!new_fault->function && !fault->function) {
        return;
    }
    __atomic_store_n(&fault->function, GS_NO_FUNCTION, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    fault->code = new_fault->code;
    fault->from_ns = new_fault->from_ns;
    fault->until_ns = new_fault->until_ns;
    *detail = *new_detail;
    __atomic_store_n(&fault->function, function, __ATOMIC_RELEASE);
}

void gs_write_node_faults(struct gs_inventory *inventory, const struct gs_fault faults[GS_FAULTS],
                          const struct gs_fault_detail details[GS_FAULTS]) {
    struct gs_header *header = &inventory->header;
    for (unsigned i = 0; i < GS_FAULTS; i++) {
        write_place(&header->faults[i], &header->fault_details[i], &faults[i], &details[i]);
    }
}

/* Longer than from here to the flip: a reader of the old rate may be that far, and no counter goes back. */
static const uint64_t SETTLE_NS = 50000000u;

void gs_counter_rate(struct gs_counter *counter, uint64_t now_ns, uint64_t per_second) {
    uint64_t from = now_ns + SETTLE_NS;
    if (from > counter->at_ns) {
        uint64_t passed = from - counter->at_ns;
        counter->value += passed / 1000000000u * counter->per_second +
                          passed % 1000000000u * counter->per_second / 1000000000u;
        counter->at_ns = from;
    }
    counter->per_second = per_second;
}
