{{- /*
SPDX-License-Identifier: Apache-2.0
Rules between keys, and those of one key for which a schema has no good words. Every template begins with
`gpu-sim.validate`: problems are collected and fail the render once, each as `values:<key>: <what is wrong>, got <value>;
<what to do>`. The shape itself is the schema's; where that was skipped, missing sections are told here, not by a trace.
*/ -}}

{{- define "gpu-sim.validate" -}}
{{- $missing := include "gpu-sim.missing" . | fromYamlArray -}}
{{- if $missing -}}
{{- fail (printf "\n\n%s\n" (join "\n" $missing)) -}}
{{- end -}}
{{- $problems := list -}}
{{- range $rules := list "gpu" "faults" "branch" "paths" "namespaces" "pods" "plugin" "versions" -}}
{{- $problems = concat $problems (include (printf "gpu-sim.problems.%s" $rules) $ | fromYamlArray) -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n\n%s\n" (join "\n" $problems)) -}}
{{- end -}}
{{- end -}}

{{- /* `--set` as it must be typed: in an umbrella chart the keys lie under this part's name. dict "root" $ "key" "value" */ -}}
{{- define "gpu-sim.set" -}}
{{- $prefix := ternary "" (printf "%s." .root.Chart.Name) .root.Chart.IsRoot -}}
{{- printf "--set '%s%s=%s'" $prefix .key .value -}}
{{- end -}}

{{- /* What the templates cannot do without. The schema says so first, in Helm's words, unless it was skipped. */ -}}
{{- define "gpu-sim.missing" -}}
{{- $problems := list -}}
{{- range $path := list "gpuSim" "branch" "nodeSelector" "image" "installer" "agent" "agent.image" "devicePlugin" "devicePlugin.image" "devicePlugin.healthChecks" "namespace" "workload" "tests" -}}
{{- $found := include "gpu-sim.at" (dict "values" $.Values "path" $path) | fromJson -}}
{{- if not (kindIs "map" $found.value) -}}
{{- $problems = append $problems (printf "values:%s: must be a map, got %s; leave the key out to have the chart's defaults" $path (toJson $found.value)) -}}
{{- end -}}
{{- end -}}
{{- if not $problems -}}
{{- range $path := list "gpuSim.deviceCount" "gpuSim.profile" "gpuSim.uuidFormat" "hostRoot" "kubeletRoot" "image.repository" "agent.image.repository" "devicePlugin.image.repository" "devicePlugin.deviceListStrategy" "devicePlugin.deviceIdStrategy" "namespace.name" -}}
{{- $found := include "gpu-sim.at" (dict "values" $.Values "path" $path) | fromJson -}}
{{- if kindIs "invalid" $found.value -}}
{{- $problems = append $problems (printf "values:%s: must have a value, got null; leave the key out to have the chart's default" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- /* {value: …} for a dotted path, null where nothing is there. dict "values" <map> "path" <text> */ -}}
{{- define "gpu-sim.at" -}}
{{- $value := .values -}}
{{- range $part := splitList "." .path -}}
{{- if and (kindIs "map" $value) (hasKey ($value | default dict) $part) -}}
{{- $value = get $value $part -}}
{{- else -}}
{{- $value = get (dict "nothing" nil) "nothing" -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "value" $value) -}}
{{- end -}}

{{- define "gpu-sim.problems.gpu" -}}
{{- $problems := list -}}
{{- $name := .Values.gpuSim.deviceName | default "" -}}
{{- $reset := include "gpu-sim.set" (dict "root" $ "key" "gpuSim.deviceName" "value" "null") -}}
{{- range $word := list "(nvgpu)" "NVIDIA Thor" -}}
{{- if contains $word $name -}}
{{- $problems = append $problems (printf "values:gpuSim.deviceName: contains %q, by which NVIDIA's libraries know an integrated GPU, got %q; choose another name, or %s" $word $name $reset) -}}
{{- end -}}
{{- end -}}
{{- if has $name (list "DGX Display" "NVIDIA DGX Display") -}}
{{- $problems = append $problems (printf "values:gpuSim.deviceName: is a display adapter that the device plugin leaves out, got %q; choose another name, or %s" $name $reset) -}}
{{- end -}}
{{- if and (eq .Values.gpuSim.uuidFormat "plain") (include "gpu-sim.usesCdi" .) -}}
{{- $problems = append $problems (printf "values:gpuSim.uuidFormat: cannot be used with the CDI strategies, whose device names are real UUIDs, got \"plain\"; %s, or %s" (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.deviceListStrategy" "value" "{envvar}")) (include "gpu-sim.set" (dict "root" $ "key" "gpuSim.uuidFormat" "value" "rfc4122"))) -}}
{{- end -}}
{{- $load := include "gpu-sim.allocationUtilization" . -}}
{{- if contains "-" $load -}}
{{- $ends := splitList "-" $load -}}
{{- if gt (int (first $ends)) (int (last $ends)) -}}
{{- $problems = append $problems (printf "values:allocation.utilization: must be a range from low to high, got %q; %s" $load (include "gpu-sim.set" (dict "root" $ "key" "allocation.utilization" "value" (printf "%s-%s" (last $ends) (first $ends))))) -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- define "gpu-sim.problems.branch" -}}
{{- $problems := list -}}
{{- if .Values.branch.dedicated -}}
{{- if not .Values.branch.slug -}}
{{- $problems = append $problems (printf "values:branch.slug: is needed for a dedicated branch, got \"\"; %s, or %s" (include "gpu-sim.set" (dict "root" $ "key" "branch.slug" "value" "my-branch")) (include "gpu-sim.set" (dict "root" $ "key" "branch.dedicated" "value" "false"))) -}}
{{- end -}}
{{- $selected := get .Values.nodeSelector "gpu-sim.io/branch" -}}
{{- if and (hasKey .Values.nodeSelector "gpu-sim.io/branch") (ne $selected .Values.branch.slug) -}}
{{- $problems = append $problems (printf "values:nodeSelector: selects the nodes of another branch than branch.slug (%q), got %q; %s" .Values.branch.slug $selected (include "gpu-sim.set" (dict "root" $ "key" "nodeSelector.gpu-sim\\.io/branch" "value" .Values.branch.slug))) -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- define "gpu-sim.problems.paths" -}}
{{- $problems := list -}}
{{- $host := .Values.hostRoot -}}
{{- $kubelet := .Values.kubeletRoot -}}
{{- $default := include "gpu-sim.set" (dict "root" $ "key" "hostRoot" "value" "/var/lib/gpu-sim") -}}
{{- range $key := list "hostRoot" "kubeletRoot" -}}
{{- $path := get $.Values $key -}}
{{- if regexMatch "/[.]{1,2}(/|$)" $path -}}
{{- $problems = append $problems (printf "values:%s: has a part that is . or .., got %q; write the path out: %s" $key $path (include "gpu-sim.set" (dict "root" $ "key" $key "value" (clean $path)))) -}}
{{- end -}}
{{- end -}}
{{- if or (regexMatch "^/(bin|boot|dev|etc|lib|lib64|proc|sbin|sys|usr)/" $host) (regexMatch "^/var/(cache|lib|lock|log|run|spool|tmp)$" $host) -}}
{{- $problems = append $problems (printf "values:hostRoot: is a directory of the system, and an uninstall empties it, got %q; %s" $host $default) -}}
{{- end -}}
{{- if or (hasPrefix (print $kubelet "/") (print $host "/")) (hasPrefix (print $host "/") (print $kubelet "/")) -}}
{{- $problems = append $problems (printf "values:hostRoot: overlaps the kubelet's directory %q, got %q; %s" $kubelet $host $default) -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- define "gpu-sim.problems.namespaces" -}}
{{- $problems := list -}}
{{- $system := list "default" "kube-system" "kube-public" "kube-node-lease" -}}
{{- $workload := .Values.workload.namespace | default "" -}}
{{- if and .Values.namespace.create (has .Values.namespace.name $system) (ne .Values.namespace.name .Release.Namespace) -}}
{{- $problems = append $problems (printf "values:namespace.name: belongs to Kubernetes and is not created by a chart, got %q; %s" .Values.namespace.name (include "gpu-sim.set" (dict "root" $ "key" "namespace.create" "value" "false"))) -}}
{{- end -}}
{{- if and .Values.workload.create (has $workload $system) (ne $workload .Release.Namespace) -}}
{{- $problems = append $problems (printf "values:workload.namespace: belongs to Kubernetes and is not created by a chart, got %q; %s" $workload (include "gpu-sim.set" (dict "root" $ "key" "workload.create" "value" "false"))) -}}
{{- end -}}
{{- if and $workload .Values.workload.create .Values.namespace.create (eq $workload .Values.namespace.name) (ne $workload .Release.Namespace) -}}
{{- $problems = append $problems (printf "values:workload.namespace: is the namespace of the node pods, which is privileged, got %q; %s" $workload (include "gpu-sim.set" (dict "root" $ "key" "workload.namespace" "value" (printf "%s-workload" $workload)))) -}}
{{- end -}}
{{- $quota := dig "requests.nvidia.com/gpu" nil (.Values.workload.quota | default dict) -}}
{{- if and (not (kindIs "invalid" $quota)) (not $workload) -}}
{{- $problems = append $problems (printf "values:workload.quota: has no namespace to hold in, got %s; %s, or %s" (toJson .Values.workload.quota) (include "gpu-sim.set" (dict "root" $ "key" "workload.namespace" "value" "my-team")) (include "gpu-sim.set" (dict "root" $ "key" "workload.quota" "value" "null"))) -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- define "gpu-sim.problems.pods" -}}
{{- $problems := list -}}
{{- $selectors := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- range $section := list "podLabels" "podAnnotations" -}}
{{- range $key, $value := get $.Values $section | default dict -}}
{{- $own := or (hasPrefix "gpu-sim.io/" $key) (and (eq $section "podLabels") (has $key $selectors)) -}}
{{- if and $own (not (kindIs "invalid" $value)) -}}
{{- $problems = append $problems (printf "values:%s: has %q, which the chart sets itself, got %q; %s" $section $key $value (include "gpu-sim.set" (dict "root" $ "key" (printf "%s.%s" $section ($key | replace "." "\\.")) "value" "null"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- define "gpu-sim.problems.plugin" -}}
{{- $problems := list -}}
{{- $checks := .Values.devicePlugin.healthChecks -}}
{{- if not $checks.enabled -}}
{{- range $key := list "ignoredXids" "fatalXids" -}}
{{- with get $checks $key -}}
{{- $problems = append $problems (printf "values:devicePlugin.healthChecks.%s: has no effect while health checks are off, got %s; %s, or %s" $key (toJson .) (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.healthChecks.enabled" "value" "true")) (include "gpu-sim.set" (dict "root" $ "key" (printf "devicePlugin.healthChecks.%s" $key) "value" "null"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $fatal := list -}}
{{- range $checks.fatalXids }}{{ $fatal = append $fatal (int64 .) }}{{ end -}}
{{- $both := list -}}
{{- range $checks.ignoredXids }}{{ if has (int64 .) $fatal }}{{ $both = append $both (int64 .) }}{{ end }}{{ end -}}
{{- if $both -}}
{{- $problems = append $problems (printf "values:devicePlugin.healthChecks: the same Xid is ignored and fatal, got %s in both lists; %s, or %s" (toJson $both) (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.healthChecks.ignoredXids" "value" "null")) (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.healthChecks.fatalXids" "value" "null"))) -}}
{{- end -}}
{{- $image := .Values.devicePlugin.image -}}
{{- if and .Values.devicePlugin.enabled (not $image.tag) (not $image.digest) -}}
{{- $problems = append $problems (printf "values:devicePlugin.image.tag: neither tag nor digest is given, got \"\"; %s" (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.image.tag" "value" "v0.20.0"))) -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- /* Version of the plugin as major.minor; empty where nothing tells it. */ -}}
{{- define "gpu-sim.pluginMinor" -}}
{{- $version := .Values.devicePlugin.version | default (regexFind "^v?[0-9]+[.][0-9]+[.][0-9]+" (.Values.devicePlugin.image.tag | default "")) -}}
{{- regexFind "[0-9]+[.][0-9]+" $version -}}
{{- end -}}

{{- define "gpu-sim.problems.versions" -}}
{{- $problems := list -}}
{{- $image := .Values.devicePlugin.image -}}
{{- if and .Values.gpuSim.enabled .Values.devicePlugin.enabled (or $image.tag $image.digest) -}}
{{- $table := .Files.Get "files/plugin-versions.yaml" | fromYaml -}}
{{- $known := keys $table | sortAlpha -}}
{{- $minor := include "gpu-sim.pluginMinor" . -}}
{{- $set := include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.version" "value" (printf "%s.0" (last $known))) -}}
{{- if not $minor -}}
{{- $problems = append $problems (printf "values:devicePlugin.image.tag: does not tell the plugin's version, got %q; name the version that is in the image, such as %s" ($image.tag | default "") $set) -}}
{{- else if not (hasKey $table $minor) -}}
{{- $problems = append $problems (printf "values:devicePlugin.image.tag: is not a version that this chart can run (it knows %s), got %q; %s" (join ", " $known) $minor (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.image.tag" "value" (printf "v%s.0" (last $known))))) -}}
{{- else -}}
{{- $row := get $table $minor -}}
{{- $kubernetes := .Capabilities.KubeVersion.Version -}}
{{- if semverCompare (printf "<%s.0-0" $row.kubernetes.from) $kubernetes -}}
{{- $problems = append $problems (printf "values:devicePlugin.image.tag: plugin %s needs Kubernetes %s or later, got %s; upgrade the cluster, or do without the plugin: %s" $minor $row.kubernetes.from $kubernetes (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.enabled" "value" "false"))) -}}
{{- end -}}
{{- if and .Values.devicePlugin.healthChecks.fatalXids (not $row.fatalXids) -}}
{{- $problems = append $problems (printf "values:devicePlugin.healthChecks.fatalXids: plugin %s does not know this list, got %s; %s" $minor (toJson .Values.devicePlugin.healthChecks.fatalXids) (include "gpu-sim.set" (dict "root" $ "key" "devicePlugin.healthChecks.fatalXids" "value" "null"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}
