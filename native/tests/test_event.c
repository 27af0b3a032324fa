/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for events: sleeps, is woken by another process, gives each set each event once. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "state.h"
#include "writer.h"

static long now_ms(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* As a writer does it: in the ring first, then the number, then the wake. */
static void raise_event(struct gs_inventory *inventory, uint32_t slot, uint64_t type,
                        uint64_t data) {
    struct gs_ring *ring = &inventory->header.ring;
    struct gs_event *event = &ring->events[ring->head % GS_EVENTS];
    *event = (struct gs_event){.type = type,
                               .data = data,
                               .slot = slot,
                               .gpu_instance = 0xFFFFFFFFu,
                               .compute_instance = 0xFFFFFFFFu};
    __atomic_store_n(&event->sequence, ring->head + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&ring->futex, 1, __ATOMIC_ACQ_REL);
    syscall(SYS_futex, &ring->futex, FUTEX_WAKE, 0x7FFFFFFF, NULL, NULL, 0);
}

static nvmlEventSet_t set_for(unsigned index, unsigned long long types) {
    nvmlEventSet_t set = NULL;
    CHECK_NUMBER(nvmlEventSetCreate(&set), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceRegisterEvents(check_device(index), types, set), NVML_SUCCESS);
    return set;
}

static void nothing_happens(void) {
    nvmlEventSet_t set = set_for(0, nvmlEventTypeXidCriticalError);
    nvmlEventData_t data;
    long began = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 300), NVML_ERROR_TIMEOUT);
    long took = now_ms(CLOCK_MONOTONIC) - began;
    CHECK(took >= 299);
    CHECK(now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu < 100); /* it slept */
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetFree(set), NVML_SUCCESS);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_INVALID_ARGUMENT);
}

static void each_set_once(struct gs_inventory *inventory) {
    nvmlEventSet_t one = set_for(1, nvmlEventTypeXidCriticalError);
    nvmlEventSet_t other =
        set_for(1, nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError);
    nvmlEventSet_t elsewhere = set_for(0, nvmlEventTypeXidCriticalError);
    nvmlEventData_t data;
    raise_event(inventory, 1, nvmlEventTypeDoubleBitEccError, 0);
    raise_event(inventory, 1, nvmlEventTypeXidCriticalError, 79);
    CHECK_NUMBER(nvmlEventSetWait_v2(one, &data, 1000), NVML_SUCCESS);
    CHECK_NUMBER(data.eventType, nvmlEventTypeXidCriticalError);
    CHECK_NUMBER(data.eventData, 79);
    CHECK(data.device == check_device(1));
    CHECK_NUMBER(data.gpuInstanceId, 0xFFFFFFFFu);
    CHECK_NUMBER(nvmlEventSetWait_v2(one, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetWait_v2(other, &data, 0), NVML_SUCCESS);
    CHECK_NUMBER(data.eventType, nvmlEventTypeDoubleBitEccError);
    CHECK_NUMBER(nvmlEventSetWait_v2(other, &data, 0), NVML_SUCCESS);
    CHECK_NUMBER(data.eventType, nvmlEventTypeXidCriticalError);
    CHECK_NUMBER(nvmlEventSetWait_v2(other, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetWait_v2(elsewhere, &data, 0), NVML_ERROR_TIMEOUT);
    nvmlEventSet_t late =
        set_for(1, nvmlEventTypeXidCriticalError); /* sees what comes after it only */
    CHECK_NUMBER(nvmlEventSetWait_v2(late, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetFree(late), NVML_SUCCESS);
    CHECK_NUMBER(nvmlEventSetFree(elsewhere), NVML_SUCCESS);
    CHECK_NUMBER(nvmlEventSetFree(other), NVML_SUCCESS);
    CHECK_NUMBER(nvmlEventSetFree(one), NVML_SUCCESS);
}

/* While a repair is under way, whoever begins to listen hears what was raised since it began; afterwards not. */
static void replayed_to_whoever_comes(struct gs_inventory *inventory) {
    nvmlEventData_t data;
    raise_event(inventory, 1, nvmlEventTypeXidCriticalError, 31);
    uint64_t from = inventory->header.ring.head;
    raise_event(inventory, 1, nvmlEventTypeXidCriticalError, 63);
    raise_event(inventory, 2, nvmlEventTypeXidCriticalError, 94);
    gs_replay(inventory, from, gs_now_ns() + 60000000000u);
    nvmlEventSet_t set = set_for(1, nvmlEventTypeXidCriticalError);
    CHECK_NUMBER(nvmlDeviceRegisterEvents(check_device(2), nvmlEventTypeXidCriticalError, set),
                 NVML_SUCCESS);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_SUCCESS);
    CHECK_NUMBER(data.eventData, 63);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_SUCCESS);
    CHECK_NUMBER(data.eventData, 94);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetFree(set), NVML_SUCCESS);
    gs_replay(inventory, from, gs_now_ns() - 1); /* a repair that was killed: over by itself */
    set = set_for(1, nvmlEventTypeXidCriticalError);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetFree(set), NVML_SUCCESS);
    gs_replay(inventory, 0, 0);
    set = set_for(1, nvmlEventTypeXidCriticalError);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_TIMEOUT);
    CHECK_NUMBER(nvmlEventSetFree(set), NVML_SUCCESS);
}

/* The first version's struct ends before the instance numbers. */
static void first_version(struct gs_inventory *inventory) {
    nvmlEventSet_t set = set_for(2, nvmlEventTypeXidCriticalError);
    nvmlEventData_t *data = check_guarded(offsetof(nvmlEventData_t, gpuInstanceId));
    raise_event(inventory, 2, nvmlEventTypeXidCriticalError, 48);
    CHECK_NUMBER(nvmlEventSetWait(set, data, 1000), NVML_SUCCESS);
    CHECK_NUMBER(data->eventData, 48);
    CHECK_NUMBER(nvmlEventSetFree(set), NVML_SUCCESS);
}

static void nothing(int signal_number) {
    (void)signal_number;
}

/* Woken by another process, and not by a signal that comes before. */
static void from_another_process(struct gs_inventory *inventory) {
    nvmlEventSet_t set = set_for(0, nvmlEventTypeXidCriticalError);
    nvmlEventData_t data = {0};
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGUSR1, &action, NULL);
    pid_t child = fork();
    if (!child) {
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, NULL);
        kill(getppid(), SIGUSR1);
        nanosleep(&pause, NULL);
        raise_event(inventory, 0, nvmlEventTypeXidCriticalError, 94);
        _exit(0);
    }
    long began = now_ms(CLOCK_MONOTONIC);
    CHECK_NUMBER(nvmlEventSetWait_v2(set, &data, 20000), NVML_SUCCESS);
    CHECK(now_ms(CLOCK_MONOTONIC) - began >= 190);
    CHECK(now_ms(CLOCK_MONOTONIC) - began < 10000);
    CHECK_NUMBER(data.eventData, 94);
    CHECK_NUMBER(waitpid(child, NULL, 0), child);
    CHECK_NUMBER(nvmlEventSetFree(set), NVML_SUCCESS);
}

int main(void) {
    struct gs_inventory *inventory = check_inventory("a100-sxm4-40gb", 3);
    unsigned long long types = 0;
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetSupportedEventTypes(check_device(0), &types), NVML_SUCCESS);
    CHECK(types & nvmlEventTypeXidCriticalError);
    nothing_happens();
    each_set_once(inventory);
    replayed_to_whoever_comes(inventory);
    first_version(inventory);
    from_another_process(inventory);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    check_remove_inventory();
    return check_result();
}
