import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "typebox/value";
import { checkEventTypeInput, EventTypeInput } from "../model/event-type.ts";
import type { Complain } from "./check-declared.ts";
import type { JsonSchema } from "./expected.ts";
import type { Located, Report } from "./located.ts";
import { parseYaml } from "./parse-yaml.ts";
import { readValue } from "./read-value.ts";

/** An event type from a file of its own, or from a list in a file. */
export interface FileItem {
  /** `event-types/order.yaml:3:5`. */
  place: string;
  item: unknown;
}

const FILE_NAME = /\.(ya?ml|json)$/i;

/** JSON is read as yaml. Variables are not expanded: a schema may contain dollar signs. */
export function readEventTypesDir(folder: string | undefined, report: Report): FileItem[] {
  if (folder === undefined) return [];
  const unreadable = (path: string, error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    report({ place: path, path: "", message: `cannot be read (${code}); check event_types_dir` });
  };
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => FILE_NAME.test(name));
  } catch (error) {
    unreadable(folder, error);
    return [];
  }
  return names.sort().flatMap((name) => {
    const path = join(folder, name);
    try {
      return readFile(path, readFileSync(path, "utf8"), report);
    } catch (error) {
      unreadable(path, error);
      return [];
    }
  });
}

function readFile(path: string, text: string, report: Report): FileItem[] {
  const file = parseYaml({ name: path, text }, undefined, report);
  if (file === undefined) return [];
  const list = file.entries.find(({ key }) => key === "event_types")?.value;
  if (list === undefined) return [readItem(file, report)];
  const [other] = file.entries.filter(({ key }) => key !== "event_types");
  if (other !== undefined) {
    report({
      place: other.keyPlace,
      path: other.key,
      message: "unknown key; a file contains one event type, or a list event_types",
    });
  }
  if (list.kind !== "list") {
    report({ place: list.place, path: "event_types", message: "expected a list of event types" });
    return [];
  }
  return list.items.map((item) => readItem(item, report));
}

function readItem(node: Located, report: Report): FileItem {
  return { place: node.place, item: readValue(EventTypeInput as unknown as JsonSchema, node, "event type", report) };
}

/** Skips items that do not fit their schema, which were already reported. */
export function checkDeclaredEventTypes(
  inline: readonly unknown[],
  inFiles: readonly FileItem[],
  complain: Complain,
  report: Report,
): void {
  const seen = new Set<string>();
  const check = (item: unknown, tell: (field: string, message: string) => void) => {
    if (!Value.Check(EventTypeInput, item)) return;
    if (seen.has(item.name)) tell("name", `${item.name} is declared twice; names are unique`);
    seen.add(item.name);
    for (const { field, message } of checkEventTypeInput(item)) tell(field, message);
  };
  for (const [index, item] of inline.entries()) check(item, (field, message) => complain(index, field, message));
  for (const { place, item } of inFiles) check(item, (path, message) => report({ place, path, message }));
}
