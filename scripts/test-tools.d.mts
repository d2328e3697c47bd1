export type Tool =
  | "Chromium"
  | "RabbitMQ"
  | "curl"
  | "fish"
  | "strace"
  | "tmux"
  | "zsh"
  | "script"
  | "systemd-analyze"
  | "JSON Schema Test Suite"
  | "Go"
  | "Java"
  | "PHP"
  | "Python"
  | "Ruby"
  | ReleaseTool;

export type ReleaseTool =
  | "buildah"
  | "mmdebstrap"
  | "qemu-aarch64-static"
  | "libc6 for arm64"
  | "libstdc++6 for arm64"
  | "libatomic1 for arm64"
  | "actionlint"
  | "kubeconform"
  | "helm"
  | "Kubernetes schemas";

export const CACHE: string;

export function findTool(name: Tool): string | undefined;
export function findInstalled(name: Tool): string | undefined;
export function provideTools(options: { languages: boolean; release?: boolean }): void;
export function checkDisks(checkout: string, needed?: { temporary: number; checkout: number }): void;
export function isCi(): boolean;
