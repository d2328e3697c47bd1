import { curlCommand } from "./curl-command.ts";

/** A request to this gateway's API as a command for a terminal. With a body it is a POST, unless said otherwise. */
export function apiCommand(path: string, body?: unknown, method?: string): string {
  return curlCommand(location.origin + path, body, method);
}
