import { readOneAtPointers } from "./request-reading.ts";
import { ToleranceAlone } from "./kind-options.ts";
import { badSignature, checkTime, findHmacSecret, getHeader, getUnixSeconds } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

const TOLERANCE_S = 300;
/** During a rotation Stripe signs with each secret; there are no more than a few. */
const MAX_SIGNATURES = 10;

/** docs.stripe.com/webhooks: `t=…,v1=…[,v1=…]`, the key is the whole `whsec_…` text. */
export const stripe: PushedSourceKind = {
  name: "stripe",
  options: ToleranceAlone,
  needsSecret: true,
  pointers: [["type"], ["id"], ["created"]],
  verify(request, settings) {
    const { time, signatures } = parseSignature(getHeader(request, "stripe-signature"));
    const isSigned = signatures.some(
      (given) => findHmacSecret(given, settings.secrets, `${time}.`, request.body, "hex") !== undefined,
    );
    if (!isSigned) throw badSignature("No v1 signature matches this body with a secret of this source.");
    checkTime(getUnixSeconds(time), request, settings, TOLERANCE_S);
  },
  events: readOneAtPointers("stripe", "Stripe"),
};

function parseSignature(header: string): { time: string; signatures: readonly string[] } {
  let time = "";
  const signatures: string[] = [];
  for (const item of header.split(",", MAX_SIGNATURES)) {
    const equalsAt = item.indexOf("=");
    const name = item.slice(0, equalsAt).trim();
    if (name === "t") time = item.slice(equalsAt + 1);
    if (name === "v1") signatures.push(item.slice(equalsAt + 1));
  }
  return { time, signatures };
}
