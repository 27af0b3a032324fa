# SPDX-License-Identifier: Apache-2.0
"""For how long each sentence may be true before it counts: a cluster is late by design, and a false alarm is a defect.

Read by judge. Every time is a sum of named causes.
"""

from __future__ import annotations

from tests.harness.audit import rules

# The kubelet looks at its containers once a second and tells the API about pods when it gets to it; on two busy
# processors, or just after its own start, that has been seen to take most of 10 s.
POD_STATUS_S = 15
# nodeStatusUpdateFrequency is 10 s by default: allocatable is that old.
NODE_STATUS_S = 10
# The agent reads the kubelet every 3 s; when it was killed it is started again after a back-off of 10 s at first.
AGENT_S = 15
# A pod deleted by force is gone from the API at once, and from the node after its grace (30 s by default).
FORCED_S = 30
# From a change or a fault of any of our parts to usable GPUs: what the README promises.
HEAL_S = 60
# The quota controller counts a namespace anew some seconds after a pod was deleted.
QUOTA_S = 30

SETTLE: dict[rules.Rule, float] = {
    # The kubelet's list is one moment of one program: no lateness explains two holders of a device.
    rules.doubled: 0,
    rules.ended_holds: POD_STATUS_S + AGENT_S,
    rules.unknown_pod: FORCED_S + POD_STATUS_S,
    rules.elsewhere: POD_STATUS_S,
    rules.wrong_number: POD_STATUS_S + AGENT_S,
    rules.unknown_gpu: HEAL_S,
    rules.inventory: POD_STATUS_S + AGENT_S,
    rules.offered: HEAL_S + NODE_STATUS_S,
    rules.too_many: HEAL_S + NODE_STATUS_S,
    rules.quota: QUOTA_S,
    # A node that was given another name keeps its old GPUs until the installer has run again.
    rules.same_uuid: HEAL_S,
    rules.unread: HEAL_S + NODE_STATUS_S,
}
# What persists is seen again and again; two looks far apart may have met two different moments.
SIGHTINGS = 3
