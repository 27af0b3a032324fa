{{- /*
SPDX-License-Identifier: Apache-2.0
The warnings of NOTES.txt, as a YAML list of texts. They look at the cluster where there is one; nothing that is
installed depends on what they find. With namespace.create=false nothing is looked up: that is how people without
rights on the whole cluster install, and a lookup that is forbidden would fail the install.
*/ -}}

{{- define "gpu-sim.warnings" -}}
{{- $warnings := list -}}
{{- $count := int64 .Values.gpuSim.deviceCount -}}
{{- if and .Values.devicePlugin.enabled (gt $count 12) -}}
{{- $warnings = append $warnings (printf "%d GPUs on a node: the device plugin chooses GPUs for a pod by trying every way to divide them. With 16, a pod that asks for 2 takes seconds and one that asks for 3 about a minute; with 24 even 2 never ends. Let pods ask for 1 GPU or for all of them, or have more nodes with at most 12 each: --set gpuSim.deviceCount=12" $count) -}}
{{- end -}}
{{- if .Values.devicePlugin.enabled -}}
{{- $minor := include "gpu-sim.pluginMinor" . -}}
{{- $row := get (.Files.Get "files/plugin-versions.yaml" | fromYaml) $minor -}}
{{- if semverCompare (printf ">=%s.0-0" $row.kubernetes.builtFor) (printf "%s.%s.0" .Capabilities.KubeVersion.Major (regexFind "[0-9]+" .Capabilities.KubeVersion.Minor)) -}}
{{- if ne $row.kubernetes.builtFor (printf "%s.%s" .Capabilities.KubeVersion.Major (regexFind "[0-9]+" .Capabilities.KubeVersion.Minor)) -}}
{{- $warnings = append $warnings (printf "Kubernetes %s is newer than %s, for which device plugin %s was built. It is expected to work; if GPUs do not appear, look for a newer plugin." .Capabilities.KubeVersion.Version $row.kubernetes.builtFor $minor) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if .Values.namespace.create -}}
{{- $warnings = concat $warnings (include "gpu-sim.warnings.namespace" . | fromYamlArray) (include "gpu-sim.warnings.foreign" . | fromYamlArray) -}}
{{- else -}}
{{- $warnings = append $warnings (printf "namespace.create is false: namespace %s must exist and must admit pods of the Pod Security level privileged, since the node pods use host directories. If the DaemonSet gets no pods: kubectl label namespace %s --overwrite pod-security.kubernetes.io/enforce=privileged" .Values.namespace.name .Values.namespace.name) -}}
{{- end -}}
{{- toYaml $warnings -}}
{{- end -}}

{{- /* A namespace that is not ours to label, and that would refuse the pods. */ -}}
{{- define "gpu-sim.warnings.namespace" -}}
{{- $warnings := list -}}
{{- if not (include "gpu-sim.ownsNamespace" (dict "root" $ "name" .Values.namespace.name)) -}}
{{- $labels := dig "metadata" "labels" dict (lookup "v1" "Namespace" "" .Values.namespace.name) | default dict -}}
{{- $level := get $labels "pod-security.kubernetes.io/enforce" -}}
{{- if has $level (list "baseline" "restricted") -}}
{{- $warnings = append $warnings (printf "Namespace %s enforces the Pod Security level %s, which refuses the node pods: no node will get GPUs. Run: kubectl label namespace %s --overwrite pod-security.kubernetes.io/enforce=privileged" .Values.namespace.name $level .Values.namespace.name) -}}
{{- end -}}
{{- end -}}
{{- toYaml $warnings -}}
{{- end -}}

{{- /* DaemonSets that run NVIDIA's device plugin, or go where its chart goes: on a node that both select, the plugin that
registers last would have the kubelet. */ -}}
{{- define "gpu-sim.warnings.foreign" -}}
{{- $warnings := list -}}
{{- range $daemonSet := dig "items" list (lookup "apps/v1" "DaemonSet" "" "") -}}
{{- $labels := dig "metadata" "labels" dict $daemonSet | default dict -}}
{{- if ne (get $labels "app.kubernetes.io/part-of") "gpu-sim" -}}
{{- $spec := dig "spec" "template" "spec" dict $daemonSet | toJson -}}
{{- $where := printf "DaemonSet %s/%s" $daemonSet.metadata.namespace $daemonSet.metadata.name -}}
{{- $advice := "Keep it off the simulated nodes (a node without that label, or a taint it does not tolerate): on a node that both select, the installer refuses to start, or the two take the GPUs from each other." -}}
{{- if contains "nvidia.com/gpu.present" $spec -}}
{{- $warnings = append $warnings (printf "%s goes to nodes with the label nvidia.com/gpu.present. %s" $where $advice) -}}
{{- else if or (contains "k8s-device-plugin" $spec) (contains "nvidia-device-plugin" $spec) -}}
{{- $warnings = append $warnings (printf "%s runs a device plugin for nvidia.com/gpu. %s" $where $advice) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $warnings -}}
{{- end -}}
