import { findHexBytes } from "../model/secrets.ts";
import { scalarTextAt } from "../model/json.ts";
import { checkKeySignature, findEd25519Key, publicKeyForm, remember, type KeyScheme } from "./signatures.ts";
import { eventTypeOf, findTime, hashOf, identityOf, requireJson, oneEvent } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { jsonAnswer } from "./handshakes.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind } from "./source-kind.ts";

const MAX_PING_BYTES = 16 * 1024;
const INTERACTIONS: ReadonlyMap<string | undefined, string> = new Map([
  ["2", "application_command"],
  ["3", "message_component"],
  ["4", "application_command_autocomplete"],
  ["5", "modal_submit"],
]);
const keyOf = remember((secret) => findEd25519Key(findHexBytes(secret)));
const PUBLIC_KEY = publicKeyForm(keyOf, "is not the public key of an application: 64 hexadecimal digits");
const SIGNED: KeyScheme = {
  headers: { time: "x-signature-timestamp", signature: "x-signature-ed25519" },
  form: "64 bytes in hexadecimal",
  decode: (signature) => (/^[0-9a-f]{128}$/i.test(signature) ? Buffer.from(signature, "hex") : undefined),
  algorithm: null,
  keyOf,
};

/**
 * docs.discord.com/developers: webhook events and interactions, both signed (Ed25519) over the timestamp and the body.
 * The secret is the public key of the application. Discord tests a URL with wrong signatures before it accepts it.
 */
export const discord: PushedSourceKind = {
  name: "discord",
  options: ToleranceAlone,
  needsSecret: true,
  secretForm: () => PUBLIC_KEY,
  pointers: [["type"], ["event", "type"], ["event", "timestamp"], ["id"]],
  handshake(request, settings) {
    const { body } = request;
    if (body.length > MAX_PING_BYTES) return undefined;
    const type = scalarTextAt(body, ["type"]);
    // A webhook event has type 1 as well, but also names its event.
    if (type !== "0" && (type !== "1" || scalarTextAt(body, ["event", "type"]) !== undefined)) return undefined;
    verify(request, settings);
    return type === "0" ? { status: 204 } : jsonAnswer('{"type":1}');
  },
  verify,
  events(request, _settings, form) {
    requireJson(form, "Discord");
    const [type, eventType, time, id] = form.texts;
    if (eventType === undefined) {
      return oneEvent(eventTypeOf("discord", INTERACTIONS.get(type)), identityOf(id));
    }
    const identity = hashOf(request.body);
    return oneEvent(eventTypeOf("discord", eventType), identity, findTime(time));
  },
  answer: () => ({ status: 204 }),
};

function verify(request: ArrivedRequest, settings: KindSettings): void {
  checkKeySignature(request, settings, SIGNED);
}
