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
  | "Ruby";

export function findTool(name: Tool): string | undefined;
export function findInstalled(name: Tool): string | undefined;
export function provideTools(options: { languages: boolean }): void;
export function checkDisks(checkout: string, needed?: { temporary: number; checkout: number }): void;
export function isCi(): boolean;
