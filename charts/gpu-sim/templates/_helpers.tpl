{{- /*
SPDX-License-Identifier: Apache-2.0
Names, labels and references that several templates share. All are prefixed `gpu-sim.`: templates of an umbrella chart
share one space of names. Every value that ends in a manifest is quoted, since a release may be called `1.10` or `08`.
*/ -}}

{{- define "gpu-sim.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{- /* A DNS label of at most 52 characters for any text: what is lost comes back as a hash, so that two releases never
share a name. 52 leaves room for the suffixes of the test pods and of the pods' own names. */ -}}
{{- define "gpu-sim.dnsLabel" -}}
{{- $label := . | replace "." "-" -}}
{{- if or (ne $label .) (gt (len $label) 52) -}}
{{- printf "%s-%s" ($label | trunc 43 | trimSuffix "-") (sha256sum . | trunc 8) -}}
{{- else -}}
{{- $label -}}
{{- end -}}
{{- end -}}

{{- /* The release's name for a chart of its own; as a part of an umbrella chart, with the part's name behind it. */ -}}
{{- define "gpu-sim.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if and .Chart.IsRoot (not .Values.nameOverride) -}}
{{- include "gpu-sim.dnsLabel" .Release.Name -}}
{{- else -}}
{{- include "gpu-sim.dnsLabel" (printf "%s-%s" .Release.Name (include "gpu-sim.name" .)) -}}
{{- end -}}
{{- end -}}

{{- /* Cluster-scoped objects carry the release's namespace as well. A colon is in no name, so no two pairs are alike. */ -}}
{{- define "gpu-sim.clusterName" -}}
{{- printf "gpu-sim:%s:%s" .Release.Namespace (include "gpu-sim.fullname" .) -}}
{{- end -}}

{{- /* The selector of the DaemonSet is immutable: nothing may ever be added here. */ -}}
{{- define "gpu-sim.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gpu-sim.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: "node"
{{- end -}}

{{- define "gpu-sim.commonLabels" -}}
app.kubernetes.io/name: {{ include "gpu-sim.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/part-of: "gpu-sim"
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "gpu-sim-%s" .Chart.Version | replace "+" "_" | quote }}
{{- with .Values.branch.slug }}
gpu-sim.io/branch: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "gpu-sim.branchAnnotation" -}}
{{- with .Values.branch.name -}}
gpu-sim.io/branch-name: {{ . | quote }}
{{- end -}}
{{- end -}}

{{- /* dict "root" $ "image" <map>: repository:tag, or repository@digest where a digest is given. */ -}}
{{- define "gpu-sim.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest | quote -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (.image.tag | default .root.Chart.AppVersion) | quote -}}
{{- end -}}
{{- end -}}

{{- /* A container argument that the kubelet must not expand: `$(X)` in a product name stays as it is. */ -}}
{{- define "gpu-sim.argument" -}}
{{- . | toString | replace "$" "$$" | quote -}}
{{- end -}}

{{- /* A whole number in digits: numbers of a values file are floating point, and large ones would print as 1e+06. */ -}}
{{- define "gpu-sim.integer" -}}
{{- . | int64 | toString | quote -}}
{{- end -}}

{{- /* What the agent is told of `allocation`. An upgrade with --reuse-values brings the values of a release that did not
have this section: the defaults stand here again. */ -}}
{{- define "gpu-sim.allocationMemory" -}}
{{- $allocation := .Values.allocation | default dict -}}
{{- $policy := $allocation.memory | default "fraction" -}}
{{- if eq $policy "fraction" -}}
{{- printf "%d%%" (int64 ($allocation.memoryPercent | default 50)) -}}
{{- else -}}
{{- $policy -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.allocationUtilization" -}}
{{- $load := get (.Values.allocation | default dict) "utilization" -}}
{{- if kindIs "string" $load -}}
{{- $load | default "20-80" -}}
{{- else if kindIs "invalid" $load -}}
20-80
{{- else -}}
{{- int64 $load -}}
{{- end -}}
{{- end -}}

{{- /* The plugin's ideas of which Xids matter. The agent gets the same: it tells people whether an Xid will be acted on. */ -}}
{{- define "gpu-sim.healthChecks" -}}
{{- with .Values.devicePlugin.healthChecks }}
{{- if not .enabled }}
- {name: "DP_DISABLE_HEALTHCHECKS", value: "all"}
{{- else if .ignoredXids }}
- {name: "DP_DISABLE_HEALTHCHECKS", value: {{ join "," .ignoredXids | quote }}}
{{- end }}
{{- if .fatalXids }}
- {name: "DP_ENABLE_HEALTHCHECKS", value: {{ join "," .fatalXids | quote }}}
{{- end }}
{{- end }}
{{- end -}}

{{- define "gpu-sim.nodeSelector" -}}
{{- range $key, $value := .Values.nodeSelector }}
{{ $key | quote }}: {{ $value | quote }}
{{- end }}
{{- if .Values.branch.dedicated }}
{{- if not (hasKey .Values.nodeSelector "gpu-sim.io/branch") }}
"gpu-sim.io/branch": {{ .Values.branch.slug | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* key=value,… of the same labels, for the commands that people and the test pod use. dict "root" $ "separator" <text> */ -}}
{{- define "gpu-sim.nodeLabels" -}}
{{- $labels := list -}}
{{- range $key, $value := (include "gpu-sim.nodeSelector" .root | fromYaml) -}}
{{- $labels = append $labels (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- join .separator $labels -}}
{{- end -}}

{{- define "gpu-sim.tolerations" -}}
{{- range .Values.tolerations }}
- {{ toJson . }}
{{- end }}
{{- if .Values.branch.dedicated }}
- {key: "gpu-sim.io/branch", operator: "Equal", value: {{ .Values.branch.slug | quote }}}
{{- end }}
{{- end -}}

{{- /* "true" where the pods get their devices through CDI. */ -}}
{{- define "gpu-sim.usesCdi" -}}
{{- if .Values.devicePlugin.enabled -}}
{{- if or (has "cdi-cri" .Values.devicePlugin.deviceListStrategy) (has "cdi-annotations" .Values.devicePlugin.deviceListStrategy) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* "true" where a namespace is to be part of the release: never the release's own, and never one that is already
there for somebody else. Objects of two releases may share it, so whoever came first keeps it. `lookup` finds nothing
without a cluster (helm template): then it is rendered. The three marks are those by which Helm adopts. dict "root" $ "name" <namespace> */ -}}
{{- define "gpu-sim.ownsNamespace" -}}
{{- if ne .name .root.Release.Namespace -}}
{{- $found := lookup "v1" "Namespace" "" .name -}}
{{- $annotations := dig "metadata" "annotations" dict $found | default dict -}}
{{- $labels := dig "metadata" "labels" dict $found | default dict -}}
{{- if not $found -}}
true
{{- else if and (eq (get $labels "app.kubernetes.io/managed-by") "Helm") (eq (get $annotations "meta.helm.sh/release-name") .root.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") .root.Release.Namespace) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Pod and container settings of the test pods, which the level `restricted` of Pod Security accepts: they run in the
release's namespace, where `helm test --logs` looks for them. */ -}}
{{- define "gpu-sim.testPodSecurity" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
seccompProfile: {type: "RuntimeDefault"}
{{- end -}}

{{- define "gpu-sim.testContainerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: ["ALL"]}
{{- end -}}
