import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { PosthornError } from "../../domain/errors.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import { changeOf, oneOf, withDefault } from "../../domain/shape.ts";
import type { Senders } from "../../deliver/senders/open-senders.ts";
import { SUBSCRIPTION_FIELDS, SubscriptionSchema } from "../../deliver/senders/subscription-schema.ts";
import type { Subscription, SubscriptionInput } from "../../domain/subscription.ts";
import type { Statistics } from "../../operate/statistics.ts";
import type { Resume } from "../../operate/resume.ts";
import type { SubscriptionLanes } from "../../operate/subscription-lanes.ts";
import type { Subscriptions } from "../../registry/subscriptions/subscriptions.ts";
import type { Store } from "../../store/store.ts";
import { presentSubscription } from "../present/subscription.ts";
import { cutPage, pageQuery } from "./paging.ts";
import { addResourceRoutes, asked, type Asked, type Saved } from "./resource-routes.ts";

export const SubscriptionChange = changeOf(SUBSCRIPTION_FIELDS, ["tenant_id"]);

const ResumeBody = Type.Object(
  {
    held: withDefault(
      oneOf(["deliver", "skip"], {
        description: "Whether held deliveries are sent or cancelled",
      }),
      "deliver",
    ),
  },
  { additionalProperties: false },
);

const ListQuery = pageQuery({
  cursor: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })),
  tenant_id: Type.Optional(Type.String({ maxLength: 128 })),
  label: Type.Optional(Type.String({ maxLength: 400, description: "`name` or `name=value`" })),
});
type ListQuery = Static<typeof ListQuery>;

export interface SubscriptionRoutesOptions {
  subscriptions: Subscriptions;
  remove: SubscriptionLanes["remove"];
  statistics: Pick<Statistics, "summarise">;
  store: Store;
  senders: Pick<Senders, "handshakeOf">;
  resume: Resume["resume"];
  /** The subscription was saved, but some settings will not work as its owner may expect. */
  onWarnings: (subscription: Subscription, warnings: readonly string[]) => void;
}

export function addSubscriptionRoutes(app: FastifyInstance, options: SubscriptionRoutesOptions): void {
  const { subscriptions, statistics, store } = options;

  /** Only operators may configure destinations that reach a broker or the gateway's own disk. */
  function refuseTenant(input: SubscriptionInput, caller: Asked["caller"]): void {
    const bound = caller?.tenantId;
    if (bound === undefined || !subscriptions.isForOperators(input)) return;
    throw new PosthornError(
      "forbidden",
      `Such destinations of the kind ${input.kind} need a key that is not bound to a tenant; this key is bound to ` +
        `${bound}.`,
    );
  }

  /** Gets a subscription that the caller is allowed to change. */
  function getForChange(id: string, { tenantId, caller }: Pick<Asked, "tenantId" | "caller">): Subscription {
    const subscription = subscriptions.getById(id, tenantId);
    refuseTenant(subscriptions.settingsOf(subscription), caller);
    return subscription;
  }

  const get = (request: FastifyRequest) => getForChange((request.params as { id: string }).id, asked(request));

  const partsOf = (one: Subscription) => ({
    settings: subscriptions.settingsOf(one),
    destination: subscriptions.destinationOf(one),
  });

  /** Subscriptions with their figures, which are read once for all. */
  async function presentAll(rows: readonly Subscription[]) {
    // Before the first await, because a subscription may be deleted meanwhile.
    const shown = new Map(rows.map((one) => [one, partsOf(one)]));
    const { deliveries } = await store.reads.loadCounters();
    const counters = new Map(deliveries.map((row) => [row.subscriptionSeq, row]));
    const recent = await statistics.summarise(rows.map(({ seq }) => seq));
    return (one: Subscription) =>
      presentSubscription(one, {
        ...(shown.get(one) ?? partsOf(one)),
        counters: counters.get(one.seq),
        recent: recent.get(one.seq),
        handshake: options.senders.handshakeOf(one),
      });
  }

  /** Adds the warnings of a change and, for a new subscription, its secret, which otherwise only `/secret` shows. */
  function saved(thing: Subscription, isNew: boolean): Saved<Subscription> {
    const warnings = subscriptions.warningsOf(thing);
    if (warnings.length > 0) options.onWarnings(thing, warnings);
    const secret = isNew ? { secret: thing.secrets[0] } : {};
    return { thing, isNew, more: warnings.length > 0 ? { warnings, ...secret } : secret };
  }

  const send = addResourceRoutes<Subscription, Subscription, SubscriptionInput, Partial<SubscriptionInput>, ListQuery>(
    app,
    {
      path: "/api/v1/subscriptions",
      key: "id",
      words: ["a subscription", "subscriptions"],
      readers: { scope: "read" },
      writers: { scope: "admin" },
      input: SubscriptionSchema,
      change: SubscriptionChange,
      query: ListQuery,
      chosenKey: Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}$", description: "An id of your choice" }),
      async list(query, { tenantId }) {
        const rest = subscriptions
          .list(tenantId)
          .filter((one) => one.seq > Number(query.cursor ?? 0))
          .filter((one) => hasLabel(subscriptions.settingsOf(one).labels ?? {}, query.label));
        const page = cutPage(rest, query, ({ seq }) => String(seq));
        return { page, present: await presentAll(page.rows) };
      },
      get: (id, { tenantId }) => subscriptions.getById(id, tenantId),
      async make(input, { caller, once }) {
        refuseTenant(input, caller);
        const { tenant_id: tenantId = DEFAULT_TENANT } = input;
        const made = { createdBy: caller?.keyId, once: once(`subscriptions ${tenantId}`, tenantId) };
        const { subscription, isReplay } = await subscriptions.make(input, made);
        return { ...saved(subscription, true), isReplay };
      },
      async put(input, { caller, ifMatch }, id) {
        refuseTenant(input, caller);
        const terms = { boundTo: caller?.tenantId, createdBy: caller?.keyId, ifMatch };
        const { subscription, isNew } = await subscriptions.put(id, input, terms);
        return saved(subscription, isNew);
      },
      async patch(id, change, by) {
        const subscription = getForChange(id, by);
        refuseTenant({ ...subscriptions.settingsOf(subscription), ...change }, by.caller);
        return saved(await subscriptions.change(subscription, change, by.ifMatch), false);
      },
      async remove(id, by) {
        const { cancelled, jobId } = await options.remove(getForChange(id, by), by.ifMatch);
        return { gone: { id, cancelled_deliveries: cancelled, job_id: jobId ?? null } };
      },
      present: async (one) => (await presentAll([one]))(one),
    },
  );

  app.post(
    "/api/v1/subscriptions/:id/pause",
    { config: { scope: "admin" }, schema: { summary: "Pause a subscription" } },
    async (request, reply) => {
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await subscriptions.setStatus(get(request), "inactive", { ifMatch }) });
    },
  );

  app.post<{ Body: Static<typeof ResumeBody> | undefined }>(
    "/api/v1/subscriptions/:id/resume",
    {
      config: { scope: "admin" },
      schema: {
        summary: "Resume a subscription, with or without its held deliveries",
        body: Type.Union([ResumeBody, Type.Null()]),
      },
    },
    async (request, reply) => {
      const { "if-match": ifMatch } = request.headers;
      const { subscription, skipped } = await options.resume(get(request), request.body?.held ?? "deliver", ifMatch);
      return send(reply, { thing: subscription, more: { skipped_deliveries: skipped } });
    },
  );
}

function hasLabel(labels: Readonly<Record<string, string>>, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const [name = "", value] = wanted.split(/=(.*)/s, 2);
  return Object.hasOwn(labels, name) && (value === undefined || labels[name] === value);
}
