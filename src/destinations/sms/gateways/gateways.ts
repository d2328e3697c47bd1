import type { SmsSettings } from "../settings.ts";
import type { SmsGateway } from "./gateway.ts";
import { GENERIC_HTTP } from "./generic-http.ts";
import { TWILIO } from "./twilio.ts";

/** All gateways by the value of `gateway`. To add one, add a file, a line here and a word in the schema. */
export const GATEWAYS: Readonly<Record<SmsSettings["gateway"], SmsGateway>> = {
  twilio: TWILIO,
  "generic-http": GENERIC_HTTP,
};
