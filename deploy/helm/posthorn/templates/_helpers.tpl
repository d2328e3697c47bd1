{{- define "posthorn.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "posthorn.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "posthorn.labels" -}}
{{ include "posthorn.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "posthorn.check" -}}
{{- if eq .Values.store.kind "sqlite" -}}
{{- if gt (int .Values.replicas) 1 -}}
{{- fail (printf "replicas is %d, but a SQLite database has one gateway: set replicas to 1, or store.kind to postgres" (int .Values.replicas)) -}}
{{- end -}}
{{- else -}}
{{- if not .Values.store.urlSecret.name -}}
{{- fail "store.kind is postgres: name the secret with its URL in store.urlSecret.name" -}}
{{- end -}}
{{- if not .Values.masterKeySecret.name -}}
{{- fail "store.kind is postgres: its gateways need the same master key; name the secret in masterKeySecret.name" -}}
{{- end -}}
{{- if not .Values.adminKeySecret.name -}}
{{- fail "store.kind is postgres: no volume keeps a generated admin key; name the secret in adminKeySecret.name" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.keySecret.name) (not .Values.config.metrics_public) -}}
{{- fail "serviceMonitor.enabled: name a secret with a read key in serviceMonitor.keySecret.name, or set config.metrics_public to true" -}}
{{- end -}}
{{- end -}}

{{- define "posthorn.secretVariable" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret.name }}
      key: {{ .secret.key }}
{{- end -}}

{{- define "posthorn.pod" -}}
{{- include "posthorn.check" . -}}
metadata:
  labels:
    {{- include "posthorn.labels" . | nindent 4 }}
  annotations:
    # A changed configuration starts the gateway again.
    posthorn/config: {{ toYaml .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  # Kubernetes would set POSTHORN_PORT to tcp://… for a service that is called posthorn.
  enableServiceLinks: false
  # More than limits.shutdown_timeout_s: deliveries in flight end first.
  terminationGracePeriodSeconds: 30
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  containers:
    - name: posthorn
      {{- $version := .Values.image.tag | default .Chart.AppVersion }}
      image: {{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ $version }}{{ end }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      ports:
        - name: http
          containerPort: 8080
      env:
        - name: POSTHORN_HOST
          value: 0.0.0.0
        - name: POSTHORN_PORT
          value: "8080"
        # The volume itself belongs to root; a folder in it belongs to the gateway alone.
        - name: POSTHORN_DATA_DIR
          value: /data/posthorn
        {{- with .Values.masterKeySecret }}{{ if .name }}
        {{- include "posthorn.secretVariable" (dict "variable" "POSTHORN_MASTER_KEY" "secret" .) | nindent 8 }}
        {{- end }}{{ end }}
        {{- with .Values.adminKeySecret }}{{ if .name }}
        {{- include "posthorn.secretVariable" (dict "variable" "POSTHORN_ADMIN_KEY" "secret" .) | nindent 8 }}
        {{- end }}{{ end }}
        {{- if eq .Values.store.kind "postgres" }}
        {{- include "posthorn.secretVariable" (dict "variable" "POSTHORN_STORE_URL" "secret" .Values.store.urlSecret) | nindent 8 }}
        {{- end }}
        {{- range $name, $value := .Values.env }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      {{- with .Values.envSecrets }}
      envFrom:
        {{- range . }}
        - secretRef:
            name: {{ . }}
        {{- end }}
      {{- end }}
      startupProbe:
        httpGet: { path: /livez, port: http }
        periodSeconds: 2
        # A large database that was not closed well is checked first.
        failureThreshold: 150
      livenessProbe:
        httpGet: { path: /livez, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: config
          mountPath: /config
          readOnly: true
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: config
      configMap:
        name: {{ include "posthorn.name" . }}
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.store.kind "postgres" }}
    - name: data
      emptyDir: {}
    {{- else if .Values.store.volume.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.store.volume.existingClaim }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
