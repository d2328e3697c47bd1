import { isSendersFault, PosthornError } from "../../model/errors.ts";
import type { Source } from "../../model/source.ts";
import type { BodyChecker } from "../../sandbox/text/body-check.ts";
import { readPlace, toMessageEventId } from "../to-events.ts";
import type { OpenedMessage } from "../../sources/opened-message.ts";

export interface NamingOptions {
  source: Source;
  settings: { isUntilDelivered: boolean };
  bodies: Pick<BodyChecker, "check">;
}

/**
 * Names the event of a raw message by what `id_from` finds in it, in place of the message's own id. It is named before
 * anything is asked about it, so that a message that comes again finds its event. Rejects when that is our own problem.
 */
export async function nameEvent(opened: OpenedMessage, options: NamingOptions): Promise<OpenedMessage> {
  const { source, settings } = options;
  const { facts } = opened;
  // A whole event brings its name along.
  if (source.idFrom === undefined || facts.adopted !== undefined) return opened;
  const id = await findId(opened, source.idFrom, options);
  if (id === undefined) return opened;
  const eventId = toMessageEventId(source.name, `id_from\0${id}`);
  return { ...opened, facts: { ...facts, eventId, isHeld: settings.isUntilDelivered } };
}

async function findId(
  { headers, body, remoteAddress }: OpenedMessage,
  place: NonNullable<Source["idFrom"]>,
  { source, bodies }: NamingOptions,
): Promise<string | undefined> {
  try {
    const from = { source, remoteAddress };
    const readTexts = async () =>
      (await bodies.check(body, headers["content-type"], source.pointers, false, from)).texts;
    return readPlace(place, "id", { source, headers }, { texts: place.in === "header" ? [] : await readTexts() });
  } catch (error) {
    // Whoever takes it in finds the same, and parks the message with the reason.
    if (error instanceof PosthornError && isSendersFault(error)) return undefined;
    throw error;
  }
}
