import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { usageFailure } from "./failure.ts";

/** JSON or yaml from a file; `-` is standard input. */
export function readDocument(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw usageFailure(`Cannot read ${file} (${(error as NodeJS.ErrnoException).code}).`);
  }
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw usageFailure(`${file} is neither JSON nor yaml: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}

export function readObject(file: string): Record<string, unknown> {
  const document = readDocument(file);
  if (typeof document === "object" && document !== null && !Array.isArray(document)) {
    return document as Record<string, unknown>;
  }
  throw usageFailure(`${file} holds no object.`);
}
