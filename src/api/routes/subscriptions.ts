import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { SubscriptionSchema } from "../../destinations/kinds.ts";
import { oneOf, withDefault } from "../../model/shape.ts";
import { ownerOf, type Subscription as KnownSubscription, type SubscriptionInput } from "../../model/subscription.ts";
import { allows } from "../../resources/keys.ts";
import type { SubscriptionRights } from "../../resources/subscriptions/subscription-access.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { cutPage } from "../present.ts";
import { addResourceRoutes, asked, onceScope, type Adopted, type Asked, type Saved } from "./resource-routes.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";
import { presentSubscription, Subscription, SubscriptionChange, subscriptionExample } from "./subscription-shape.ts";

const params = { id: EXAMPLE.subscription };
const SHOWN = { schema: Subscription, headers: Doc.ETAG };
const refusals = ["managed_by_config", "conflict"] as const;
const acted = { headers: Doc.IF_MATCH, errors: [...refusals, "precondition_failed"] as const };
const request = { name: EXAMPLE.newName, url: EXAMPLE.destination, events: ["order.*"] };

const ResumeBody = Doc.closed({
  held: withDefault(
    oneOf(["deliver", "skip"], { description: "Whether held deliveries are sent or cancelled" }),
    "deliver",
  ),
});

const ListQuery = Doc.pageQuery({
  cursor: Type.String({ pattern: "^[0-9]{1,15}$" }),
  tenant_id: Type.String({ maxLength: 128 }),
  label: Type.String({ maxLength: 400, description: "`name` or `name=value`" }),
});

/** What was saved from: the settings as they were given, and what is to be said of them. */
interface SavedFrom {
  given?: Partial<SubscriptionInput>;
  notes?: readonly string[] | undefined;
}

export function addSubscriptionRoutes(app: FastifyInstance, parts: Parts): void {
  const { subscriptions, statistics, store, rotation, logger } = parts;
  const route = routesOf(app, "Subscriptions");

  const getForChange = (id: string, { tenantId, caller }: Pick<Asked, "tenantId" | "caller">) =>
    subscriptions.getFor("change", id, { tenantId, boundTo: caller?.tenantId });
  const get = (request: FastifyRequest) => getForChange((request.params as { id: string }).id, asked(request));

  const partsOf = (one: KnownSubscription, caller: Asked["caller"]) => ({
    settings: subscriptions.settingsOf(one),
    destination: subscriptions.destinationOf(one),
    credentialsBy: subscriptions.credentialsByOf(one),
    can: rightsOf(one, caller),
  });

  /** All that changes or uses a subscription needs the scope `admin`. */
  function rightsOf(one: KnownSubscription, caller: Asked["caller"]): SubscriptionRights {
    if (caller === undefined || !allows(caller, "admin")) return { change: false, use: false };
    return subscriptions.rightsOf(one, caller.tenantId);
  }

  /** Subscriptions with their figures, which are read once for all. */
  async function presentAll(rows: readonly KnownSubscription[], caller: Asked["caller"]) {
    // Before the first await, because a subscription may be deleted meanwhile.
    const shown = new Map(rows.map((one) => [one, partsOf(one, caller)]));
    const seqs = rows.map(({ seq }) => seq);
    const counters = new Map((await store.reads.loadDeliveryCounters(seqs)).map((row) => [row.subscriptionSeq, row]));
    const recent = await statistics.summarise(seqs);
    return (one: KnownSubscription) =>
      presentSubscription(one, {
        ...(shown.get(one) ?? partsOf(one, caller)),
        condition: parts.targets.conditionOf(one),
        counters: counters.get(one.seq),
        recent: recent.get(one.seq),
        handshake: parts.senders.find(one.kind)?.handshakes?.find(one),
        isForPartner: caller?.isPartner === true,
      });
  }

  /** Adds the warnings of a change and, for a new subscription, its secret, which otherwise only `/secret` shows. */
  function saved(
    thing: KnownSubscription,
    isNew: boolean,
    { given, notes = [] }: SavedFrom = {},
  ): Saved<KnownSubscription> {
    const warnings = [...subscriptions.warningsOf(thing)];
    if (given?.secret !== undefined && given.secret === thing.nextSecret) warnings.push(describeRotation(thing));
    if (warnings.length > 0) {
      const { id, name } = thing;
      logger.warn({ subscription_id: id, subscription: name, warnings }, "a subscription was saved with a warning");
    }
    warnings.push(...notes);
    const secret = isNew ? { secret: thing.secrets[0] } : {};
    return { thing, isNew, more: warnings.length > 0 ? { warnings, ...secret } : secret };
  }

  const send = addResourceRoutes(route, {
    path: "/api/v1/subscriptions",
    key: "id",
    words: ["a subscription", "subscriptions"],
    readers: READ,
    writers: ADMIN,
    input: SubscriptionSchema,
    change: SubscriptionChange,
    query: ListQuery,
    chosenKey: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$", description: "An id of your choice" }),
    async list(query, { caller, tenantId }) {
      const rest = subscriptions
        .list(tenantId)
        .filter((one) => one.seq > Number(query.cursor ?? 0))
        .filter((one) => hasLabel(subscriptions.settingsOf(one).labels ?? {}, query.label));
      const page = cutPage(rest, query, ({ seq }) => String(seq));
      return { page, present: await presentAll(page.rows, caller) };
    },
    get: (id, { tenantId }) => subscriptions.getById(id, tenantId),
    adopt: adoptWebhook,
    async make(input, { caller, once }, adopted) {
      const tenantId = ownerOf(input);
      const by = { createdBy: caller?.keyId, boundTo: caller?.tenantId };
      const mark = once(onceScope("subscriptions", tenantId, caller), tenantId);
      const made = { ...by, id: adopted?.id, once: mark };
      const { subscription, isReplay } = await subscriptions.make(input, made);
      return { ...saved(subscription, true, { notes: adopted?.notes }), isReplay };
    },
    async put(input, { caller, ifMatch }, id) {
      const terms = { boundTo: caller?.tenantId, createdBy: caller?.keyId, ifMatch };
      const { subscription, isNew } = await rotation.save((notifyRotation) =>
        subscriptions.put(id, input, { ...terms, notifyRotation }),
      );
      return saved(subscription, isNew, { given: input });
    },
    async patch(id, change: Partial<SubscriptionInput>, by) {
      const terms = { boundTo: by.caller?.tenantId, ifMatch: by.ifMatch };
      const subscription = getForChange(id, by);
      const changed = await rotation.save((notifyRotation) =>
        subscriptions.change(subscription, change, { ...terms, notifyRotation }),
      );
      return saved(changed, false, { given: change });
    },
    async remove(id, by) {
      const { cancelled, jobId } = await parts.subscriptionLanes.remove(getForChange(id, by), by.ifMatch);
      return { gone: { id, cancelled_deliveries: cancelled, job_id: jobId ?? null } };
    },
    present: async (one, caller) => (await presentAll([one], caller))(one),
    docs: () => ({
      params,
      schema: Subscription,
      example: subscriptionExample(),
      made: {
        description: "Created. The answer shows the secret",
        schema: Doc.extended(
          Subscription,
          () => ({ secret: Doc.textOf("Shown only here and by `/secret`") }),
          "SubscriptionWithSecret",
        ),
        example: { ...subscriptionExample(), secret: EXAMPLE.secret },
      },
      refusals,
      list: { answer: { description: "Subscriptions, oldest first" } },
      make: {
        description:
          "The body may also be another program's model of a webhook: an `id` is kept, `tenant_id` may be an " +
          "integer, `description` null and `status` `suspended` (which becomes `inactive`); `created_at`, " +
          "`updated_at` and `created_by` are ignored, and `warnings` says so.",
        request,
        errors: ["subscription_quota", "managed_by_config"],
      },
      read: { answer: { description: "The subscription" } },
      replace: {
        description:
          "Replaces the subscription, or creates it with the id in the path; then the answer is 201 with its secret.",
        request: { ...request, rate_limit: 100 },
        answer: { example: { ...subscriptionExample(), rate_limit: 100 } },
        errors: ["subscription_quota"],
      },
      change: {
        description: "The change affects deliveries whose next attempt has not started.",
        request: { timeout: 10 },
        answer: { example: { ...subscriptionExample(), timeout: 10 } },
      },
      remove: {
        answer: Doc.shows(
          Doc.closed({
            id: Type.String(),
            cancelled_deliveries: Doc.Count,
            job_id: Doc.textOrNull("The id of the job that cancels the remaining deliveries when there are many"),
          }),
          "Deleted; its open deliveries are cancelled",
          { ...params, cancelled_deliveries: 0, job_id: null },
        ),
      },
    }),
  });

  route("POST /api/v1/subscriptions/:id/pause", ADMIN, "Pause a subscription", {
    ...acted,
    description: "Deliveries wait until the subscription is resumed; none is lost.",
    example: { params },
    answer: () => ({ ...SHOWN, description: "Paused", example: { ...subscriptionExample(), status: "inactive" } }),
    async handle(request, reply) {
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await subscriptions.setStatus(get(request), "inactive", { ifMatch }) });
    },
  });

  route("POST /api/v1/subscriptions/:id/resume", ADMIN, "Resume a subscription, with or without its held deliveries", {
    body: Doc.nullable(ResumeBody),
    ...acted,
    example: { params, body: { held: "deliver" } },
    answer: () => ({
      ...SHOWN,
      description: "The subscription, which is active again",
      schema: Doc.extended(Subscription, () => ({ skipped_deliveries: Doc.Count }), "ResumedSubscription"),
      example: { ...subscriptionExample(), skipped_deliveries: 0 },
    }),
    async handle(request, reply) {
      const { "if-match": ifMatch } = request.headers;
      const { subscription, skipped } = await parts.resume.resume(
        get(request),
        request.body?.held ?? "deliver",
        ifMatch,
      );
      return send(reply, { thing: subscription, more: { skipped_deliveries: skipped } });
    },
  });
}

function describeRotation({ id }: KnownSubscription): string {
  return (
    "A rotation has begun: the old and the new secret both sign until the overlap ends. When the receiver has the new " +
    `one, POST /api/v1/subscriptions/${id}/rotate-secret/confirm; POST …/rotate-secret/retire ends the old one at once.`
  );
}

function hasLabel(labels: Readonly<Record<string, string>>, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const [name = "", value] = wanted.split(/=(.*)/s, 2);
  return Object.hasOwn(labels, name) && (value === undefined || labels[name] === value);
}

/** Kept by the gateway itself: who made a subscription, and when. */
const OWN = ["created_at", "updated_at", "created_by"];
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The model of a program whose webhooks become subscriptions, as it writes it: with an id and times of its own, an
 * integer as tenant and null for what is not set. Other bodies stay as they are.
 */
function adoptWebhook(body: unknown): Adopted {
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
