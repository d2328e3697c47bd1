import { scalarTextAt } from "../model/json.ts";
import { eventTypeOf, findTime, hashOf, identityOf, oneEvent, formFields, isForm } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { echoChallenge } from "./handshakes.ts";
import { getV0Secret } from "./signatures.ts";
import type { ArrivedRequest, KindSettings, ReadEvent, PushedSourceKind } from "./source-kind.ts";

const SIGNED = { time: "x-slack-request-timestamp", signature: "x-slack-signature", toleranceS: 300 };
const MAX_CHALLENGE_BYTES = 16 * 1024;

/** docs.slack.dev: the Events API, and forms of slash commands and interactions. */
export const slack: PushedSourceKind = {
  name: "slack",
  options: ToleranceAlone,
  needsSecret: true,
  pointers: [["type"], ["event", "type"], ["event_id"], ["event_time"]],
  handshake(request, settings) {
    const { body } = request;
    if (body.length > MAX_CHALLENGE_BYTES || !body.includes('"url_verification"')) return undefined;
    if (scalarTextAt(body, ["type"]) !== "url_verification") return undefined;
    verify(request, settings);
    return echoChallenge(scalarTextAt(body, ["challenge"]) ?? "");
  },
  verify,
  events(request, _settings, form) {
    if (form.kind !== "json") return { events: [readForm(request)] };
    const [type, eventType, id, time] = form.texts;
    const name = type === "event_callback" ? eventType : type;
    return oneEvent(eventTypeOf("slack", name), identityOf(id), findTime(time));
  },
  // Slack shows the body of an answer to the user who gave the command.
  answer: () => ({ status: 200 }),
};

function verify(request: ArrivedRequest, settings: KindSettings): void {
  getV0Secret(request, settings, SIGNED);
}

/** Forms have no event id, but a trigger id, which is unique. */
function readForm(request: ArrivedRequest): ReadEvent {
  const fields = isForm(request) ? formFields(request) : new URLSearchParams();
  const payload = fields.get("payload");
  if (payload === null) {
    const type = eventTypeOf("slack", fields.has("command") ? "slash_command" : undefined);
    return { type, identity: identityOf(fields.get("trigger_id") ?? undefined) };
  }
  const interaction = Buffer.from(payload);
  return {
    type: eventTypeOf("slack", scalarTextAt(interaction, ["type"])),
    identity: identityOf(scalarTextAt(interaction, ["trigger_id"])) ?? hashOf(interaction),
  };
}
