import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import { describeForwardOverlaps } from "../../domain/forward-rules.ts";
import { SUBSCRIPTION_FIELDS, SubscriptionSchema } from "../../deliver/senders/subscription-schema.ts";
import type { Subscription, SubscriptionInput } from "../../domain/subscription.ts";
import type { Statistics, Summary } from "../../operate/statistics.ts";
import type { Resume } from "../../operate/resume.ts";
import type { SubscriptionLanes } from "../../operate/subscription-lanes.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";
import { etagOf } from "../../registry/if-match.ts";
import type { DeliveryCounters } from "../../store/port/reads.ts";
import type { Store } from "../../store/store.ts";
import { readIfMatch, sendWithEtag } from "../conditional.ts";
import { readOnce } from "../read-once.ts";
import { presentSubscription } from "../present/subscription.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";

const { tenant_id: _, ...changeable } = SUBSCRIPTION_FIELDS;
export const SubscriptionChange = Type.Partial(Type.Object(changeable), { additionalProperties: false });

const ChosenId = Type.Object({
  id: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$", description: "Chosen by whoever makes it" }),
});

const ResumeBody = Type.Object(
  {
    held: Type.Optional(
      Type.Union([Type.Literal("deliver"), Type.Literal("skip")], {
        default: "deliver",
        description: "What becomes of the deliveries that were held: they are sent, or cancelled",
      }),
    ),
  },
  { additionalProperties: false },
);

const ListQuery = Type.Object(
  {
    ...PageQuery,
    cursor: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })),
    tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
    label: Type.Optional(Type.String({ maxLength: 400, description: "`name` or `name=value`" })),
  },
  { additionalProperties: false },
);

export interface SubscriptionRoutesOptions {
  subscriptions: Subscriptions;
  remove: SubscriptionLanes["remove"];
  statistics: Pick<Statistics, "summarise">;
  store: Store;
  resume: Resume["resume"];
  /** It was saved, but not all will be as its owner may think. */
  onWarnings: (subscription: Subscription, warnings: readonly string[]) => void;
}

export function addSubscriptionRoutes(app: FastifyInstance, options: SubscriptionRoutesOptions): void {
  const { subscriptions, remove, statistics, store, resume } = options;
  const get = (request: FastifyRequest) =>
    subscriptions.getById((request.params as { id: string }).id, request.caller?.tenantId);

  /** For whoever changes it. */
  function getMine(request: FastifyRequest): Subscription {
    const subscription = get(request);
    refuseTenant(subscription, request.caller?.tenantId);
    return subscription;
  }

  /** What reaches a broker is the operator's to configure. */
  function refuseTenant(input: Pick<SubscriptionInput, "kind">, bound: string | undefined): void {
    if (bound === undefined || !subscriptions.isForOperators(input)) return;
    throw new PosthornError(
      "forbidden",
      `Destinations of the kind ${input.kind} are for keys that are bound to no tenant; this one is bound to ${bound}.`,
    );
  }

  async function present(subscription: Subscription) {
    const { deliveries } = await store.reads.loadCounters();
    const counters = deliveries.find(({ subscriptionSeq }) => subscriptionSeq === subscription.seq);
    const recent = (await statistics.summarise([subscription.seq])).get(subscription.seq);
    return toShown(subscription, counters, recent);
  }

  function toShown(subscription: Subscription, counters: DeliveryCounters = NONE, recent?: Summary) {
    const settings = subscriptions.settingsOf(subscription);
    return presentSubscription(subscription, settings, subscriptions.destinationOf(subscription), counters, recent);
  }

  const send = async (reply: FastifyReply, subscription: Subscription) =>
    sendWithEtag(reply, etagOf(subscription), await present(subscription));

  /** What is to be said of one that was made or changed, beside what it is. */
  function warn(saved: Subscription): { warnings?: readonly string[] } {
    const warnings = describeForwardOverlaps(saved, subscriptions.list(saved.tenantId));
    if (warnings.length === 0) return {};
    options.onWarnings(saved, warnings);
    return { warnings };
  }

  const sendSaved = async (reply: FastifyReply, saved: Subscription) =>
    sendWithEtag(reply, etagOf(saved), { ...(await present(saved)), ...warn(saved) });

  /** With the secret, which is never shown again but by `/secret`. */
  const sendCreated = async (reply: FastifyReply, created: Subscription) =>
    sendWithEtag(reply.code(201), etagOf(created), {
      ...(await present(created)),
      ...warn(created),
      secret: created.secrets[0],
    });

  /** A tenant's key sets its own tenant and no other. */
  function ofTenant(body: SubscriptionInput, bound: string | undefined): SubscriptionInput {
    if (bound === undefined) return body;
    refuseTenant(body, bound);
    if (body.tenant_id !== undefined && body.tenant_id !== bound) {
      throw new PosthornError("forbidden", `This key is bound to the tenant ${bound}; leave tenant_id out.`);
    }
    return { ...body, tenant_id: bound };
  }

  app.post<{ Body: SubscriptionInput }>(
    "/api/v1/subscriptions",
    { config: { scope: "admin" }, schema: { summary: "Make a subscription", body: SubscriptionSchema } },
    async (request, reply) => {
      const input = ofTenant(request.body, request.caller?.tenantId);
      const tenantId = input.tenant_id ?? DEFAULT_TENANT;
      const once = readOnce(request, `subscriptions ${tenantId}`, tenantId);
      const made = await subscriptions.make(input, { createdBy: request.caller?.keyId, once });
      return sendCreated(made.isReplay ? reply.header("idempotency-replayed", "true") : reply, made.subscription);
    },
  );

  app.put<{ Body: SubscriptionInput; Params: { id: string } }>(
    "/api/v1/subscriptions/:id",
    {
      config: { scope: "admin" },
      schema: { summary: "Make or replace a subscription", body: SubscriptionSchema, params: ChosenId },
    },
    async (request, reply) => {
      const { id } = request.params;
      const input = ofTenant(request.body, request.caller?.tenantId);
      const { tenantId: boundTo, keyId: createdBy } = request.caller ?? {};
      const terms = { boundTo, createdBy, ifMatch: readIfMatch(request) };
      const { subscription, isNew } = await subscriptions.put(id, input, terms);
      return isNew ? sendCreated(reply, subscription) : sendSaved(reply, subscription);
    },
  );

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/subscriptions",
    { config: { scope: "read" }, schema: { summary: "List subscriptions", querystring: ListQuery } },
    async ({ caller, query }) => {
      const { limit, cursor } = pageOf(query);
      const rest = subscriptions
        .list(caller?.tenantId ?? query.tenant_id)
        .filter((one) => one.seq > Number(cursor ?? 0))
        .filter((one) => hasLabel(subscriptions.settingsOf(one).labels ?? {}, query.label));
      const rows = rest.slice(0, limit);
      const nextCursor = rest.length > limit ? String(rows.at(-1)?.seq) : undefined;
      const { deliveries } = await store.reads.loadCounters();
      const counters = new Map(deliveries.map((row) => [row.subscriptionSeq, row]));
      const recent = await statistics.summarise(rows.map(({ seq }) => seq));
      return presentPage({ rows, nextCursor }, (one) => toShown(one, counters.get(one.seq), recent.get(one.seq)));
    },
  );

  app.get(
    "/api/v1/subscriptions/:id",
    { config: { scope: "read" }, schema: { summary: "Read a subscription" } },
    (request, reply) => send(reply, get(request)),
  );

  app.patch<{ Body: Partial<SubscriptionInput> }>(
    "/api/v1/subscriptions/:id",
    { config: { scope: "admin" }, schema: { summary: "Change a subscription", body: SubscriptionChange } },
    async (request, reply) =>
      sendSaved(reply, await subscriptions.change(getMine(request), request.body, readIfMatch(request))),
  );

  app.delete(
    "/api/v1/subscriptions/:id",
    { config: { scope: "admin" }, schema: { summary: "Delete a subscription" } },
    async (request) => {
      const subscription = getMine(request);
      const { cancelled, jobId } = await remove(subscription, readIfMatch(request));
      return { id: subscription.id, cancelled_deliveries: cancelled, job_id: jobId ?? null };
    },
  );

  app.post(
    "/api/v1/subscriptions/:id/pause",
    { config: { scope: "admin" }, schema: { summary: "Pause a subscription" } },
    async (request, reply) =>
      send(reply, await subscriptions.setStatus(getMine(request), "inactive", { ifMatch: readIfMatch(request) })),
  );

  app.post<{ Body: Static<typeof ResumeBody> | undefined }>(
    "/api/v1/subscriptions/:id/resume",
    {
      config: { scope: "admin" },
      schema: {
        summary: "Resume a subscription, with what it held or without",
        body: Type.Union([ResumeBody, Type.Null()]),
      },
    },
    async (request, reply) => {
      const { subscription, skipped } = await resume(
        getMine(request),
        request.body?.held ?? "deliver",
        readIfMatch(request),
      );
      return sendWithEtag(reply, etagOf(subscription), {
        ...(await present(subscription)),
        skipped_deliveries: skipped,
      });
    },
  );
}

function hasLabel(labels: Readonly<Record<string, string>>, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const [name = "", value] = wanted.split(/=(.*)/s, 2);
  return Object.hasOwn(labels, name) && (value === undefined || labels[name] === value);
}

const NONE = {
  subscriptionSeq: 0,
  tenantId: "",
  created: 0,
  delivered: 0,
  dead: 0,
  cancelled: 0,
  attempts: 0,
  failures: 0,
  lastAttemptAt: undefined,
  deadLetters: 0,
  pruned: 0,
};
