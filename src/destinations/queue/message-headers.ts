import { createHeaderSeal } from "../../queues/sealed-headers.ts";
import { isFieldName, isFieldValue } from "../../model/headers.ts";
import type { KeptRequest } from "../../model/event.ts";
import { createHeaderChoice, isHidden, namesOfConnection } from "../forwarded-headers.ts";
import { plainHeaderName } from "../outgoing-header.ts";
import type { Attempt } from "../sender.ts";
import type { OpenCredentials } from "../services.ts";
import type { QueueDestination } from "./settings.ts";

/** The headers of a request in a message: plain ones as they are, and named credentials encrypted. */
export interface MessageHeaders {
  headers: Record<string, string> | undefined;
  sealedHeaders: string | undefined;
}

/** The same limits as for messages that are received. */
const MAX_HEADERS = 200;
const MAX_LENGTH = 16_384;

export type ChooseHeaders = (kept: KeptRequest, attempt: Attempt, eventId: string) => MessageHeaders;

export function createHeaderChooser(
  { forwardHeaders, messageKey }: Pick<QueueDestination, "forwardHeaders" | "messageKey">,
  openCredentials: OpenCredentials,
): ChooseHeaders {
  const isChosen = createHeaderChoice(forwardHeaders);
  const seal = messageKey === undefined ? undefined : createHeaderSeal(messageKey);

  return ({ headers, sealed }, { event }, eventId) => {
    const ofConnection = namesOfConnection(textOf(headers["connection"]));
    const isHandedOn = (name: string) => isChosen(name) && ofConnection?.has(plainHeaderName(name)) !== true;
    const plain = choose(headers, isHandedOn);
    const secret =
      seal === undefined || sealed === undefined ? undefined : choose(openCredentials(event, sealed), isHandedOn);
    return { headers: plain, sealedHeaders: secret && seal?.seal(secret, eventId) };
  };
}

function choose(
  headers: KeptRequest["headers"],
  isHandedOn: (name: string) => boolean,
): Record<string, string> | undefined {
  const chosen: [string, string][] = [];
  for (const name in headers) {
    const text = textOf(headers[name]);
    if (text === undefined || text === "" || text.length > MAX_LENGTH || isHidden(text)) continue;
    if (isHandedOn(name) && isFieldName(name) && isFieldValue(text)) chosen.push([name, text]);
  }
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen.slice(0, MAX_HEADERS));
}

function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : value.join(", ");
}
