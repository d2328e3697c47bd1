import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { changeOf, oneOf, withDefault } from "../../model/shape.ts";
import type { Senders } from "../../destinations/open-senders.ts";
import { SUBSCRIPTION_FIELDS, SubscriptionSchema } from "../../destinations/subscription-schema.ts";
import { ownerOf, type Subscription, type SubscriptionInput } from "../../model/subscription.ts";
import type { Statistics } from "../../jobs/statistics.ts";
import type { Resume } from "../../replays/resume.ts";
import type { SecretRotation } from "../../jobs/secret-rotation.ts";
import type { SubscriptionLanes } from "../../resources/subscriptions/subscription-lanes.ts";
import type { Targets } from "../../resources/target-states.ts";
import { allows } from "../../resources/keys.ts";
import type { SubscriptionRights } from "../../resources/subscriptions/subscription-access.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { Store } from "../../store/store.ts";
import { onceScope } from "../once.ts";
import { presentSubscription } from "../present/subscription.ts";
import { cutPage, pageQuery } from "./paging.ts";
import { adoptWebhook } from "./adopt-webhook.ts";
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

const WRITERS = { scope: "admin" } as const;

export interface SubscriptionRoutesOptions {
  subscriptions: Subscriptions;
  remove: SubscriptionLanes["remove"];
  targets: Pick<Targets, "conditionOf">;
  statistics: Pick<Statistics, "summarise">;
  store: Store;
  senders: Pick<Senders, "handshakeOf">;
  resume: Resume["resume"];
  rotation: Pick<SecretRotation, "save">;
  /** The subscription was saved, but some settings will not work as its owner may expect. */
  onWarnings: (subscription: Subscription, warnings: readonly string[]) => void;
}

/** What was saved from: the settings as they were given, and what is to be said of them. */
interface SavedFrom {
  given?: Partial<SubscriptionInput>;
  notes?: readonly string[] | undefined;
}

export function addSubscriptionRoutes(app: FastifyInstance, options: SubscriptionRoutesOptions): void {
  const { subscriptions, statistics, store } = options;

  const getForChange = (id: string, { tenantId, caller }: Pick<Asked, "tenantId" | "caller">) =>
    subscriptions.getFor("change", id, { tenantId, boundTo: caller?.tenantId });
  const get = (request: FastifyRequest) => getForChange((request.params as { id: string }).id, asked(request));

  const partsOf = (one: Subscription, caller: Asked["caller"]) => ({
    settings: subscriptions.settingsOf(one),
    destination: subscriptions.destinationOf(one),
    credentialsBy: subscriptions.credentialsByOf(one),
    can: rightsOf(one, caller),
  });

  /** All that changes or uses a subscription needs the scope of `WRITERS`. */
  function rightsOf(one: Subscription, caller: Asked["caller"]): SubscriptionRights {
    if (caller === undefined || !allows(caller, WRITERS.scope)) return { change: false, use: false };
    return subscriptions.rightsOf(one, caller.tenantId);
  }

  /** Subscriptions with their figures, which are read once for all. */
  async function presentAll(rows: readonly Subscription[], caller: Asked["caller"]) {
    // Before the first await, because a subscription may be deleted meanwhile.
    const shown = new Map(rows.map((one) => [one, partsOf(one, caller)]));
    const { deliveries } = await store.reads.loadCounters();
    const counters = new Map(deliveries.map((row) => [row.subscriptionSeq, row]));
    const recent = await statistics.summarise(rows.map(({ seq }) => seq));
    return (one: Subscription) =>
      presentSubscription(one, {
        ...(shown.get(one) ?? partsOf(one, caller)),
        condition: options.targets.conditionOf(one),
        counters: counters.get(one.seq),
        recent: recent.get(one.seq),
        handshake: options.senders.handshakeOf(one),
        isForPartner: caller?.isPartner === true,
      });
  }

  /** Adds the warnings of a change and, for a new subscription, its secret, which otherwise only `/secret` shows. */
  function saved(thing: Subscription, isNew: boolean, { given, notes = [] }: SavedFrom = {}): Saved<Subscription> {
    const warnings = [...subscriptions.warningsOf(thing)];
    if (given?.secret !== undefined && given.secret === thing.nextSecret) warnings.push(describeRotation(thing));
    if (warnings.length > 0) options.onWarnings(thing, warnings);
    warnings.push(...notes);
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
      writers: WRITERS,
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
        const { subscription, isNew } = await options.rotation.save((notifyRotation) =>
          subscriptions.put(id, input, { ...terms, notifyRotation }),
        );
        return saved(subscription, isNew, { given: input });
      },
      async patch(id, change, by) {
        const terms = { boundTo: by.caller?.tenantId, ifMatch: by.ifMatch };
        const subscription = getForChange(id, by);
        const changed = await options.rotation.save((notifyRotation) =>
          subscriptions.change(subscription, change, { ...terms, notifyRotation }),
        );
        return saved(changed, false, { given: change });
      },
      async remove(id, by) {
        const { cancelled, jobId } = await options.remove(getForChange(id, by), by.ifMatch);
        return { gone: { id, cancelled_deliveries: cancelled, job_id: jobId ?? null } };
      },
      present: async (one, caller) => (await presentAll([one], caller))(one),
    },
  );

  app.post(
    "/api/v1/subscriptions/:id/pause",
    { config: WRITERS, schema: { summary: "Pause a subscription" } },
    async (request, reply) => {
      const { "if-match": ifMatch } = request.headers;
      return send(reply, { thing: await subscriptions.setStatus(get(request), "inactive", { ifMatch }) });
    },
  );

  app.post<{ Body: Static<typeof ResumeBody> | undefined }>(
    "/api/v1/subscriptions/:id/resume",
    {
      config: WRITERS,
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

function describeRotation({ id }: Subscription): string {
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
