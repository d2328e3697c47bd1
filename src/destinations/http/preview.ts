import { maskAll, parseHeaderBlock } from "../../model/headers.ts";
import type { HttpClient, HttpRequest } from "../wire/http-client.ts";
import type { Attempt, RequestPreview } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { openHttpSender } from "./sender.ts";
import type { HttpDestination } from "./settings.ts";

/**
 * The request that the sender of the kind http would pass to its client, built by that sender itself so that nothing
 * differs.
 */
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
  // A preview requests no token and no permission, and sends no credentials.
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
    // Every header that the subscription sets may be a secret.
    headers: {
      ...(typeof headers === "string" ? parseHeaderBlock(headers) : headers),
      ...parseHeaderBlock(maskAll(originHeaders)),
    },
    body,
  };
}
