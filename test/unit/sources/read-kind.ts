import { findBodyKind, checkJsonBody } from "../../../src/sandbox/text/body-check.ts";
import type { ArrivedRequest, KindSettings, Reading, SourceKind } from "../../../src/sources/source-kind.ts";

/** What a kind reads out of a request, as the receiver asks it to. */
export function readRequest(kind: SourceKind, request: ArrivedRequest, settings: KindSettings): Reading {
  const { format, charset } = findBodyKind(request.body, request.headers["content-type"]);
  const form =
    format === "json"
      ? checkJsonBody(request.body, charset, 64, kind.pointers ?? [])
      : { kind: "other" as const, texts: [] };
  const reading = kind.events?.(request, settings, form) ?? { events: [] };
  if (reading instanceof Promise) throw new TypeError(`${kind.name} reads what it is given apart from the loop`);
  return reading;
}

/** The code of the error that a kind throws. */
export async function codeOf(act: () => unknown): Promise<unknown> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}
