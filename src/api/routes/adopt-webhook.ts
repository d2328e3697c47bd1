import type { Adopted } from "./resource-routes.ts";

/** Kept by the gateway itself: who made a subscription, and when. */
const OWN = ["created_at", "updated_at", "created_by"];
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The model of a program whose webhooks become subscriptions, as it writes it: with an id and times of its own, an
 * integer as tenant and null for what is not set. Other bodies stay as they are.
 */
export function adoptWebhook(body: unknown): Adopted {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return { body, notes: [] };
  const { id, ...rest } = body as Record<string, unknown>;
  const notes: string[] = [];
  const isId = typeof id === "string" && ID.test(id);
  if (id !== undefined && !isId)
    notes.push("id was ignored: an id has 1 to 64 letters, digits, dashes and underscores.");
  const ignored = OWN.filter((name) => name in rest);
  for (const name of ignored) delete rest[name];
  if (ignored.length > 0) notes.push(`${ignored.join(", ")}: ignored, the gateway notes them itself.`);
  if (Number.isSafeInteger(rest["tenant_id"])) rest["tenant_id"] = String(rest["tenant_id"]);
  if (rest["description"] === null) delete rest["description"];
  if (ignored.length > 0 && rest["status"] === "suspended") {
    rest["status"] = "inactive";
    notes.push("status: only the gateway suspends; the subscription is inactive.");
  }
  return { body: rest, id: isId ? id : undefined, notes };
}
