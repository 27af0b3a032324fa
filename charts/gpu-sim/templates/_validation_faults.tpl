{{- /*
SPDX-License-Identifier: Apache-2.0
Lines of gpuSim.faults, judged as `gpu-sim ctl declare` will on the node, but for what only a node knows: the UUIDs of its
GPUs. A wrong one would otherwise be told by an Event on the node alone. What words there are is in files/faults.yaml and
files/profiles.yaml, which are generated from the node program's own lists. Each line is a dict that the parts below
fill: text, verb, options, rest, gpus, and what was found wrong.
*/ -}}

{{- define "gpu-sim.problems.faults" -}}
{{- $problems := list -}}
{{- $board := include "gpu-sim.fault.board" . | fromJson -}}
{{- if and .Values.gpuSim.faults $board -}}
{{- $lists := .Files.Get "files/faults.yaml" | fromYaml -}}
{{- $none := include "gpu-sim.set" (dict "root" $ "key" "gpuSim.faults" "value" "null") -}}
{{- $sums := dict "xids" (dict) "codes" (dict) "events" 0 -}}
{{- range $i, $text := .Values.gpuSim.faults -}}
{{- $line := dict "text" (toString $text) "lists" $lists "board" $board "options" (dict) "rest" (list) "gpus" (dict) "found" (list) -}}
{{- include "gpu-sim.fault.words" $line -}}
{{- if and (not $line.found) (has $line.verb $lists.verbs) -}}
{{- include "gpu-sim.fault.gpus" $line -}}
{{- include (printf "gpu-sim.fault.verb.%s" $line.verb) $line -}}
{{- if not $line.found -}}
{{- include "gpu-sim.fault.sums" (dict "line" $line "sums" $sums) -}}
{{- end -}}
{{- end -}}
{{- range $one := $line.found -}}
{{- $problems = append $problems (printf "values:gpuSim.faults[%d]: %s, got %q; %s, or %s" $i (first $one) $line.text (last $one) $none) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $problems -}}
{{- end -}}

{{- /* list <line> <what is wrong> <what to do> */ -}}
{{- define "gpu-sim.fault.tell" -}}
{{- $line := first . -}}
{{- $_ := set $line "found" (append $line.found (rest .)) -}}
{{- end -}}

{{- /* {name, gpus, plain, nvlinks, set: {key: [lowest, highest]}} of the node; empty where the profile is unknown */ -}}
{{- define "gpu-sim.fault.board" -}}
{{- $facts := get (.Files.Get "files/profiles.yaml" | fromYaml) (toString .Values.gpuSim.profile) -}}
{{- if $facts -}}
{{- $memory := int64 (.Values.gpuSim.memoryMB | default $facts.memoryMiB) -}}
{{- $reserved := int64 $facts.reservedMiB -}}
{{- $room := ternary (div (mul $memory 7) 8) (sub $memory $reserved) (gt (mul $reserved 8) $memory) -}}
{{- $set := dict -}}
{{- range $key, $bounds := $facts.set -}}
{{- $_ := set $set $key (ternary $bounds (append $bounds $room) (eq (len $bounds) 2)) -}}
{{- end -}}
{{- toJson (dict "name" (.Values.gpuSim.deviceName | default $facts.name) "gpus" (int .Values.gpuSim.deviceCount) "plain" (eq .Values.gpuSim.uuidFormat "plain") "nvlinks" $facts.nvlinks "set" $set) -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}

{{- /* A whole number without leading zeros; empty for anything else, and for what has more than 18 digits. */ -}}
{{- define "gpu-sim.fault.number" -}}
{{- if regexMatch "^0*[0-9]{1,18}$" . -}}
{{- regexReplaceAll "^0+([0-9])" . "${1}" -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.words" -}}
{{- $line := . -}}
{{- $words := regexSplit " +" (regexReplaceAll "#.*" .text "" | trim) -1 -}}
{{- $_ := set $line "verb" (first $words) -}}
{{- $known := get (dict "nvlink-down" (list "--gpu" "--link") "fault" (list "--gpu" "--count" "--delay")) $line.verb | default (list "--gpu") -}}
{{- $waiting := "" -}}
{{- $skip := false -}}
{{- if gt (len $words) 64 -}}
{{- include "gpu-sim.fault.tell" (list $line "has more than 64 words" "write several lines") -}}
{{- $words = list $line.verb -}}
{{- end -}}
{{- range $word := rest $words -}}
{{- $name := first (splitList "=" $word) -}}
{{- $skipped := $skip -}}
{{- $skip = false -}}
{{- if $waiting -}}
{{- include "gpu-sim.fault.option" (list $line $waiting $word) -}}
{{- $waiting = "" -}}
{{- else if has $name $known -}}
{{- if contains "=" $word -}}
{{- include "gpu-sim.fault.option" (list $line $name ($word | trimPrefix $name | trimPrefix "=")) -}}
{{- else -}}
{{- $waiting = $name -}}
{{- end -}}
{{- else if not (hasPrefix "-" $word) -}}
{{- if not $skipped -}}
{{- $_ := set $line "rest" (append $line.rest $word) -}}
{{- end -}}
{{- else -}}
{{- $skip = not (contains "=" $word) -}}
{{- if has $name (list "--root" "--plugin-dir" "--proc" "--timeout") -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "has %s, which is the agent's business" $name) "leave it out") -}}
{{- else -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "gives an option that is not there (%s)" $name) (printf "%s takes %s" $line.verb (join ", " $known))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $waiting -}}
{{- include "gpu-sim.fault.option" (list $line $waiting "") -}}
{{- end -}}
{{- end -}}

{{- /* list <line> <name> <value> */ -}}
{{- define "gpu-sim.fault.option" -}}
{{- $line := index . 0 -}}
{{- $name := index . 1 -}}
{{- $value := index . 2 -}}
{{- if hasKey $line.options $name -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "gives the same option twice (%s)" $name) "give it once") -}}
{{- else if and (not $value) (ne $name "--gpu") -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "gives an option without its value (%s)" $name) "give one after it") -}}
{{- end -}}
{{- $_ := set $line.options $name $value -}}
{{- end -}}

{{- define "gpu-sim.fault.gpus" -}}
{{- $line := . -}}
{{- $count := int .board.gpus -}}
{{- $todo := printf "give --gpu 0 to %d" (sub $count 1) -}}
{{- $named := list "all" -}}
{{- if hasKey .options "--gpu" -}}
{{- $named = splitList "," (get .options "--gpu") -}}
{{- else if ne .verb "fault" -}}
{{- include "gpu-sim.fault.tell" (list $line "does not say which GPUs" "add --gpu with an index or all") -}}
{{- end -}}
{{- $pattern := printf "^(all|0|[1-9][0-9]?|GPU-[0-9a-f-]{36}%s)$" (ternary "|mock-gpu-(0|[1-9][0-9]?)" "" .board.plain) -}}
{{- $good := true -}}
{{- range $word := $named -}}
{{- $index := trimPrefix "mock-gpu-" $word -}}
{{- if and $good (not (regexMatch $pattern $word)) -}}
{{- include "gpu-sim.fault.tell" (list $line "does not name its GPUs as all, an index, a UUID, or several with commas" $todo) -}}
{{- $good = false -}}
{{- else if and $good (regexMatch "^[0-9]+$" $index) (ge (int $index) $count) -}}
{{- include "gpu-sim.fault.tell" (list $line "names a GPU that the node does not have" $todo) -}}
{{- $good = false -}}
{{- else if eq $word "all" -}}
{{- range $number := until $count -}}
{{- $_ := set $line.gpus (toString $number) true -}}
{{- end -}}
{{- else if $good -}}
{{- $_ := set $line.gpus $index true -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.verb.xid" -}}
{{- $most := int64 .lists.xidMax -}}
{{- $word := first .rest | default "" -}}
{{- if or (ne (len .rest) 1) (not (regexMatch "^[1-9][0-9]{0,8}$" $word)) (gt (int64 (regexFind "^[1-9][0-9]{0,8}$" $word | default "0")) $most) -}}
{{- include "gpu-sim.fault.tell" (list . (printf "is not one Xid, 1 to %d, and --gpu" $most) "write it as xid --gpu 3 79") -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.verb.lost" -}}
{{- if .rest -}}
{{- include "gpu-sim.fault.tell" (list . (printf "says more than which GPUs (%s)" (first .rest)) "write it as lost --gpu 1") -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.verb.set" -}}
{{- $line := . -}}
{{- $keys := include "gpu-sim.fault.keys" . -}}
{{- if not .rest -}}
{{- include "gpu-sim.fault.tell" (list $line "sets nothing" (printf "add KEY=VALUE, KEY one of %s" $keys)) -}}
{{- end -}}
{{- $seen := list -}}
{{- range $word := .rest -}}
{{- $key := first (splitList "=" $word) -}}
{{- $about := get $line.lists.set $key -}}
{{- if or (not $about) (not (contains "=" $word)) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "sets a key that is not there (%s)" $word) (printf "write KEY=VALUE, KEY one of %s" $keys)) -}}
{{- else if has $key $seen -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "sets the same key twice (%s)" $key) "set it once") -}}
{{- else if not (hasKey $line.board.set $key) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "sets what this board does not tell (%s, a %s)" $key $line.board.name) "leave it out") -}}
{{- else -}}
{{- $low := int64 (first (get $line.board.set $key)) -}}
{{- $high := int64 (last (get $line.board.set $key)) -}}
{{- $text := $word | trimPrefix $key | trimPrefix "=" -}}
{{- if not (include "gpu-sim.fault.inRange" (dict "key" $key "text" $text "unit" $about.unit "range" $about.range "low" $low "high" $high "gone" $line.lists.computeModeGone)) -}}
{{- $less := ternary (printf " but not %v" $line.lists.computeModeGone) "" (eq $key "compute-mode") -}}
{{- $more := ternary (printf ", or a range such as %d-%d%s" $low $high $about.unit) "" $about.range -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "sets a value that a %s does not have (%s)" $line.board.name $word) (printf "give %s=%d%s to %d%s%s%s" $key $low $about.unit $high $about.unit $less $more)) -}}
{{- end -}}
{{- end -}}
{{- $seen = append $seen $key -}}
{{- end -}}
{{- end -}}

{{- /* The keys of `set` in the order of the list, which a map does not keep. */ -}}
{{- define "gpu-sim.fault.keys" -}}
{{- join ", " .lists.setKeys -}}
{{- end -}}

{{- /* "true" or nothing: "85C", or "10-30%" where a range may be given. */ -}}
{{- define "gpu-sim.fault.inRange" -}}
{{- $text := trimSuffix .unit .text -}}
{{- $fits := and (hasSuffix .unit .text) (le (len $text) 47) -}}
{{- if eq .key "pstate" -}}
{{- $text = trimPrefix "P" $text -}}
{{- end -}}
{{- $ends := list $text $text -}}
{{- if and .range (contains "-" $text) -}}
{{- $first := first (splitList "-" $text) -}}
{{- $ends = list $first ($text | trimPrefix $first | trimPrefix "-") -}}
{{- end -}}
{{- $begin := include "gpu-sim.fault.number" (first $ends) -}}
{{- $end := include "gpu-sim.fault.number" (last $ends) -}}
{{- $gone := and (eq .key "compute-mode") (eq $begin (toString .gone)) -}}
{{- if and $fits $begin $end (not $gone) -}}
{{- if and (ge (int64 $begin) .low) (le (int64 $begin) (int64 $end)) (le (int64 $end) .high) -}}
true
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.verb.throttle" -}}
{{- $line := . -}}
{{- $todo := printf "give none, or some of %s" (join ", " .lists.reasons) -}}
{{- if not .rest -}}
{{- include "gpu-sim.fault.tell" (list $line "gives no reason" $todo) -}}
{{- end -}}
{{- range $word := .rest -}}
{{- if not (has $word (append $line.lists.reasons "none")) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "gives a reason that is not there (%s)" $word) $todo) -}}
{{- end -}}
{{- end -}}
{{- if and (has "none" .rest) (without .rest "none") -}}
{{- include "gpu-sim.fault.tell" (list $line "gives none beside a reason" "give none, or reasons") -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.verb.nvlink-down" -}}
{{- $line := . -}}
{{- $last := sub (int64 .board.nvlinks) 1 -}}
{{- if .rest -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "says more than GPUs and links (%s)" (first .rest)) "write it as nvlink-down --gpu 0 --link 3") -}}
{{- end -}}
{{- $links := get .options "--link" -}}
{{- if lt $last 0 -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "takes down NVLinks, of which this board has none (a %s)" .board.name) "leave the line out") -}}
{{- else if not (hasKey .options "--link") -}}
{{- include "gpu-sim.fault.tell" (list $line "does not say which links" (printf "add --link 0 to %d, or all" $last)) -}}
{{- else if ne $links "all" -}}
{{- $good := true -}}
{{- range $link := splitList "," $links -}}
{{- $number := include "gpu-sim.fault.number" $link -}}
{{- if and $good (or (not $number) (ge (len $link) 24) (gt (int64 $number) $last)) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "names a link that a %s does not have (%s)" $line.board.name $link) (printf "give --link 0 to %d, or all" $last)) -}}
{{- $good = false -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.verb.fault" -}}
{{- $line := . -}}
{{- if ne (len .rest) 2 -}}
{{- include "gpu-sim.fault.tell" (list $line "is not one function and one return code" "write it as fault nvmlDeviceGetMemoryInfo UNKNOWN --gpu 0") -}}
{{- else -}}
{{- $function := include "gpu-sim.fault.function" (first .rest) -}}
{{- if not (or (has $function .lists.ofGpu) (has $function .lists.ofNode)) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "names a function that nvml.h does not have (%s)" (first .rest)) (printf "take its name from there, near are %s" (include "gpu-sim.fault.near" (dict "lists" .lists "function" $function)))) -}}
{{- else if and (has $function .lists.ofNode) (hasKey .options "--gpu") -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "gives a GPU to a function that belongs to none (%s)" $function) "leave --gpu out") -}}
{{- end -}}
{{- $code := include "gpu-sim.fault.code" (dict "lists" .lists "word" (last .rest)) -}}
{{- if not $code -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "names a return code that is not there (%s)" (last .rest)) (printf "give its number or one of %s" (join ", " .lists.codeNames))) -}}
{{- else if and (eq $code "0") (not (hasKey .options "--delay")) -}}
{{- include "gpu-sim.fault.tell" (list $line "answers SUCCESS at once, which changes nothing" "add --delay, or give another code") -}}
{{- end -}}
{{- include "gpu-sim.fault.howOften" $line -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.howOften" -}}
{{- $line := . -}}
{{- if hasKey .options "--count" -}}
{{- $calls := get .options "--count" -}}
{{- $number := int64 (include "gpu-sim.fault.number" $calls | default "0") -}}
{{- if or (lt $number 1) (gt $number 4294967295) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "has no number of calls (%s)" $calls) "give --count 1 to 4294967295") -}}
{{- end -}}
{{- end -}}
{{- if hasKey .options "--delay" -}}
{{- $delay := get .options "--delay" -}}
{{- $longest := int64 .lists.delaySeconds -}}
{{- $number := int64 0 -}}
{{- if regexMatch "^[0-9]{1,23}(us|ms|s)$" $delay -}}
{{- $number = int64 (include "gpu-sim.fault.number" (regexFind "^[0-9]+" $delay) | default "0") -}}
{{- end -}}
{{- $most := mul $longest (get (dict "us" 1000000 "ms" 1000 "s" 1) (regexFind "[a-z]+$" $delay) | default 1) -}}
{{- if or (lt $number 1) (gt $number $most) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "has no time that a call may take (%s)" $delay) (printf "give --delay in us, ms or s, up to %ds, as in 5ms" $longest)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gpu-sim.fault.function" -}}
{{- printf "nvml%s" (regexReplaceAll "^(?i:nvml)" . "") -}}
{{- end -}}

{{- /* Functions that begin as it does, for as long as any does. */ -}}
{{- define "gpu-sim.fault.near" -}}
{{- $names := sortAlpha (concat .lists.ofGpu .lists.ofNode) -}}
{{- $wanted := lower .function -}}
{{- $near := list -}}
{{- range $length := untilStep (len $wanted) -1 -1 -}}
{{- if not $near -}}
{{- range $name := $names -}}
{{- if and (lt (len $near) 8) (hasPrefix (trunc $length $wanted) (lower $name)) -}}
{{- $near = append $near $name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- join ", " $near -}}
{{- end -}}

{{- /* The number of a return code, by number or name; nothing where there is none. */ -}}
{{- define "gpu-sim.fault.code" -}}
{{- $number := include "gpu-sim.fault.number" .word -}}
{{- $name := regexReplaceAll "^NVML_(ERROR_)?" (upper .word) "" -}}
{{- range $known, $code := .lists.codes -}}
{{- $code = toString (int64 $code) -}}
{{- if or (eq $code $number) (and (not $number) (eq $known $name)) -}}
{{- $code -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What lines together put on one GPU. A UUID is taken for a GPU beside those with an index. */ -}}
{{- define "gpu-sim.fault.sums" -}}
{{- $line := .line -}}
{{- $sums := .sums -}}
{{- $of := dict -}}
{{- $what := "" -}}
{{- $gpus := keys $line.gpus -}}
{{- if has $line.verb (list "xid" "lost") -}}
{{- $what = first $line.rest | default "79" -}}
{{- $of = $sums.xids -}}
{{- $_ := set $sums "events" (add $sums.events (len $gpus)) -}}
{{- else if eq $line.verb "fault" -}}
{{- $what = include "gpu-sim.fault.function" (first $line.rest) -}}
{{- $of = $sums.codes -}}
{{- $gpus = ternary (list "node") $gpus (has $what $line.lists.ofNode) -}}
{{- else -}}
{{- $gpus = list -}}
{{- end -}}
{{- range $gpu := $gpus -}}
{{- $has := get $of $gpu | default (dict) -}}
{{- $_ := set $has $what true -}}
{{- $_ := set $of $gpu $has -}}
{{- end -}}
{{- range $limit := list (list "xids" $line.lists.xidsOfGpu "Xids on one GPU") (list "codes" $line.lists.codesOfGpu "return codes on one GPU or the node") (list "events" $line.lists.events "events for waiting programs") -}}
{{- $counted := int64 0 -}}
{{- if eq (first $limit) "events" -}}
{{- $counted = int64 $sums.events -}}
{{- else -}}
{{- range $gpu, $has := get $sums (first $limit) -}}
{{- $counted = max $counted (len $has) -}}
{{- end -}}
{{- end -}}
{{- if gt $counted (int64 (index $limit 1)) -}}
{{- include "gpu-sim.fault.tell" (list $line (printf "makes, with the lines before it, too many %s (%d)" (last $limit) $counted) (printf "have at most %d" (int64 (index $limit 1)))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
