{{/* The name of all objects: the release's, with "muster" in it. */}}
{{- define "muster.name" -}}
{{- if contains "muster" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-muster" (.Release.Name | trunc 45 | trimSuffix "-") }}{{ end }}
{{- end }}

{{/* What selects the pods; a release named muster has kustomize's one label. */}}
{{- define "muster.selector" -}}
app.kubernetes.io/name: {{ include "muster.name" . }}
{{- end }}

{{- define "muster.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The configuration file: deploy/base/config.yaml, the release's names, then .Values.config. */}}
{{- define "muster.config" -}}
{{- $name := include "muster.name" . }}
{{- $service := printf "%s.%s" $name .Release.Namespace }}
{{- $config := .Files.Get "files/config.yaml" | fromYaml }}
{{- $_ := set $config "allowedHosts" (list $name $service (printf "%s.svc" $service) (printf "%s.svc.cluster.local" $service)) }}
{{- if ne (printf "%s/%s" .Release.Namespace $name) "muster-system/muster" }}
{{- $_ := set $config "leaderElection" (dict "resourceNamespace" .Release.Namespace "resourceName" $name) }}
{{- $_ := set $config "journal" (printf "%s/%s-journal" .Release.Namespace $name) }}
{{- end }}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.config)) }}
{{- end }}

{{/* Objects of a file of deploy/, under the names of the release: list of the file and the context. */}}
{{- define "muster.objects" -}}
{{- $file := index . 0 }}
{{- $context := index . 1 }}
{{- $name := include "muster.name" $context }}
{{- range (splitList "\n---\n" ($context.Files.Get $file)) }}
{{- $object := fromYaml . }}
{{- $meta := $object.metadata }}
{{- $_ := set $meta "name" ($meta.name | replace "muster" $name) }}
{{- if hasKey $meta "namespace" }}{{ $_ := set $meta "namespace" $context.Release.Namespace }}{{ end }}
{{- if $object.roleRef }}{{ $_ := set $object.roleRef "name" ($object.roleRef.name | replace "muster" $name) }}{{ end }}
{{- range $object.subjects }}
{{- $_ := set . "name" $name }}
{{- $_ := set . "namespace" $context.Release.Namespace }}
{{- end }}
{{- if eq $object.kind "Role" }}
{{- range $object.rules }}
{{- if has "muster" (.resourceNames | default list) }}{{ $_ := set . "resourceNames" (list $name) }}{{ end }}
{{- end }}
{{- end }}
---
{{ toYaml $object }}
{{ end }}
{{- end }}
