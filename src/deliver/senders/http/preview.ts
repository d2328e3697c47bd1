import { maskAll, parseHeaderBlock } from "../../../domain/header-block.ts";
import type { HttpClient, HttpRequest } from "../../wire/http-client.ts";
import type { Attempt, RequestPreview } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { openHttpSender } from "./sender.ts";
import type { HttpDestination } from "./settings.ts";

/** What the sender of the kind http would hand to its client: made by that sender itself, so that nothing differs. */
export function previewRequest(
  attempt: Attempt,
  services: SenderServices,
): Promise<RequestPreview | { problem: string }> {
  let made: HttpRequest | undefined;
  const client: HttpClient = {
    request(request, done) {
      made = request;
      setImmediate(done, { kind: "error", error: "a preview" });
    },
    close: () => Promise.resolve(),
  };
  const destination = attempt.subscription.destination as HttpDestination;
  // Nobody is asked for a token or for permission, and no login leaves the gateway.
  const shown = { ...destination, auth: undefined, needsPermission: false } satisfies HttpDestination;
  const subscription = { ...attempt.subscription, destination: shown };
  const sender = openHttpSender({ ...services, client });
  return new Promise((resolve) => {
    sender.send([{ ...attempt, subscription }], ([report]) => {
      if (made !== undefined) return resolve(toPreview(made));
      const outcome = report?.outcome;
      const reason = outcome !== undefined && "error" in outcome ? outcome.error : undefined;
      resolve({ problem: reason ?? "nothing would be sent" });
    });
  });
}

function toPreview({ method, headers, originHeaders = "", body }: HttpRequest): RequestPreview {
  return {
    method,
    // What the subscription sets itself may be a secret, every one of them.
    headers: {
      ...(typeof headers === "string" ? parseHeaderBlock(headers) : headers),
      ...parseHeaderBlock(maskAll(originHeaders)),
    },
    body,
  };
}
