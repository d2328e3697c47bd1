import { ApiError } from "../api/client.ts";

/** Something wrong with a text, at a line, at a JSON Pointer, or with the whole of it. */
export interface Fault {
  message: string;
  line?: number | undefined;
  pointer?: string | undefined;
}

/** All that the gateway rejects, each at its place. */
export function faultsOf(error: Error): Fault[] {
  const errors = error instanceof ApiError ? error.errors : [];
  if (errors.length === 0) return [faultOfMessage(error.message)];
  return errors.map(({ path, message }) => ({ message: `${path} ${message}`.trim(), pointer: path }));
}

/** The place that a message of the gateway names: `… at line 3`, `/properties/id …`, `rules[0].message …`. */
export function faultOfMessage(message: string): Fault {
  const line = /\bline (\d+)/.exec(message)?.[1];
  if (line !== undefined) return { message, line: Number(line) };
  const pointer = /(?:^|[\s"'`(#])((?:\/[\w$~%.-]+)+)/.exec(message)?.[1];
  if (pointer !== undefined) return { message, pointer };
  const path = /\b(?:[a-z-]+\[\d+\])(?:\.\w+|\[\d+\])*/.exec(message)?.[0];
  return path === undefined
    ? { message }
    : { message, pointer: `/${path.replaceAll(/[[.]/g, "/").replaceAll("]", "")}` };
}
