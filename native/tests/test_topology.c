/* SPDX-License-Identifier: Apache-2.0
 *
 * How GPUs are connected: all pairs answer, alike in both directions, or the device plugin refuses every pod. */
#include "check.h"

static void pair(nvmlDevice_t one, nvmlDevice_t other, int linked) {
    nvmlGpuTopologyLevel_t there = 99, back = 98;
    int same = 99;
    CHECK_NUMBER(nvmlDeviceGetTopologyCommonAncestor(one, other, &there), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetTopologyCommonAncestor(other, one, &back), NVML_SUCCESS);
    CHECK_NUMBER(there, back);
    CHECK_NUMBER(there == NVML_TOPOLOGY_INTERNAL, one == other);
    CHECK_NUMBER(nvmlDeviceOnSameBoard(one, other, &same), NVML_SUCCESS);
    CHECK_NUMBER(same, one == other);
    for (int index = 0; index < NVML_P2P_CAPS_INDEX_UNKNOWN; index++) {
        nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN, reverse = NVML_P2P_STATUS_UNKNOWN;
        nvmlReturn_t want = one == other ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
        CHECK_NUMBER(nvmlDeviceGetP2PStatus(one, other, index, &status), want);
        CHECK_NUMBER(nvmlDeviceGetP2PStatus(other, one, index, &reverse), want);
        CHECK_NUMBER(status, reverse);
        if (index == NVML_P2P_CAPS_INDEX_NVLINK && one != other) {
            CHECK_NUMBER(status, linked ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED);
        }
    }
}

/* Each other GPU is near at exactly one level, and the levels agree with the pairs. */
static void nearest(nvmlDevice_t device, unsigned count) {
    static const nvmlGpuTopologyLevel_t levels[] = {
        NVML_TOPOLOGY_INTERNAL,   NVML_TOPOLOGY_SINGLE, NVML_TOPOLOGY_MULTIPLE,
        NVML_TOPOLOGY_HOSTBRIDGE, NVML_TOPOLOGY_NODE,   NVML_TOPOLOGY_SYSTEM};
    unsigned all = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        unsigned near = 0, again;
        CHECK_NUMBER(nvmlDeviceGetTopologyNearestGpus(device, levels[i], &near, NULL),
                     NVML_SUCCESS);
        nvmlDevice_t *found = check_guarded(near * sizeof *found);
        again = near;
        CHECK_NUMBER(nvmlDeviceGetTopologyNearestGpus(device, levels[i], &again, found),
                     NVML_SUCCESS);
        CHECK_NUMBER(again, near);
        for (unsigned j = 0; j < near; j++) {
            nvmlGpuTopologyLevel_t level = 99;
            CHECK_NUMBER(nvmlDeviceGetTopologyCommonAncestor(device, found[j], &level),
                         NVML_SUCCESS);
            CHECK_NUMBER(level, levels[i]);
        }
        if (near >
            1) { /* one place too few: the need is told, and no place that is not there written */
            found = check_guarded((near - 1) * sizeof *found);
            again = near - 1;
            CHECK_NUMBER(nvmlDeviceGetTopologyNearestGpus(device, levels[i], &again, found),
                         NVML_ERROR_INSUFFICIENT_SIZE);
            CHECK_NUMBER(again, near);
        }
        all += near;
    }
    CHECK_NUMBER(all, count - 1);
}

/* Every link number that a client may ask for, up to the header's last and beyond. */
static void links(nvmlDevice_t device, unsigned has) {
    nvmlEnableState_t state;
    unsigned active = 0, version;
    for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; link++) {
        nvmlReturn_t want = link < has ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        nvmlPciInfo_t *pci = check_guarded(sizeof *pci);
        /* Before the long bus id came, the struct ended there. */
        nvmlPciInfo_t *old = check_guarded(offsetof(nvmlPciInfo_t, busId));
        CHECK_NUMBER(nvmlDeviceGetNvLinkState(device, link, &state), want);
        active += want == NVML_SUCCESS && state == NVML_FEATURE_ENABLED;
        CHECK_NUMBER(nvmlDeviceGetNvLinkVersion(device, link, &version), want);
        CHECK_NUMBER(nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, pci), want);
        CHECK_NUMBER(nvmlDeviceGetNvLinkRemotePciInfo(device, link, old), want);
        if (want != NVML_SUCCESS) {
            CHECK(check_untouched(pci, sizeof *pci));
            continue;
        }
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
        CHECK_TEXT(pci->busId, wanted);
        CHECK_TEXT(pci->busIdLegacy, wanted + 4);
        CHECK_TEXT(old->busIdLegacy, wanted + 4);
        nvmlDevice_t gpu = NULL; /* a switch, so no GPU of this node */
        CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId_v2(pci->busId, &gpu), NVML_ERROR_NOT_FOUND);
    }
    CHECK_NUMBER(active, has ? has - 1 : 0); /* link 3 is down, see main */
    CHECK_NUMBER(nvmlDeviceGetNvLinkState(device, NVML_NVLINK_MAX_LINKS, &state),
                 NVML_ERROR_INVALID_ARGUMENT);
}

int main(void) {
    static const struct {
        const char *profile;
        unsigned gpus, links;
    } cases[] = {{"a100-sxm4-40gb", 7, 12}, {"h100-80gb-hbm3", 8, 18}, {"tesla-t4", 3, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gs_inventory *inventory = check_inventory(cases[i].profile, cases[i].gpus);
        CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
        for (unsigned a = 0; a < cases[i].gpus; a++) {
            inventory->gpus[a].state[0].nvlink_down = 1u << 3;
            for (unsigned b = 0; b < cases[i].gpus; b++) {
                pair(check_device(a), check_device(b), cases[i].links > 0);
            }
            nearest(check_device(a), cases[i].gpus);
            links(check_device(a), cases[i].links);
        }
        CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
        check_remove_inventory();
    }
    return check_result();
}
