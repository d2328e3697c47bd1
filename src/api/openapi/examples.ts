/**
 * The names and ids that all examples use. A test that runs an example creates a new object for each of them and
 * replaces the example id with the real one: `test/support/example-things.ts`.
 */
export const EXAMPLE = {
  time: "2026-11-16T09:30:00.000Z",
  laterTime: "2026-11-16T09:30:00.210Z",
  overlapEnd: "2026-11-30T09:30:00.000Z",
  tenant: "acme",
  /** A tenant without subscriptions, events or keys. */
  emptyTenant: "initech",
  /** A tenant that was erased, or still is being erased. */
  erasedTenant: "umbrella",
  subscription: "sub_01m7hw9xzjewcvkjd2bcd7444a",
  /** A subscription whose secret is being rotated. */
  rotatingSubscription: "sub_01m7hw9y3ne8ptb0n057n5najk",
  destination: "https://erp.example.com/hooks",
  /** An event whose only delivery is dead. */
  event: "order-1001-created",
  deadDelivery: "dlv_4k2m7",
  /** A delivery that waits because its subscription is paused. */
  heldDelivery: "dlv_4k2m9",
  /** A running job that does not end, because its subscription is paused. */
  runningReplay: "rpl_01m7hwa2q1e3xbwz6k0h4v9r8c",
  pausedReplay: "rpl_01m7hwa31fe7h9m2d8n5t0c4yz",
  webhookEvent: "evt_01m7hw9zy2ebzbqm83bvdaavs5",
  request: "req_01m7hw9zy2ebzbqm83bvdaavs5",
  refusedRequest: "req_01m7hwa035ew8vd738vc2hcwm6",
  source: "shop",
  /** A source that reads a broker's queue; one of its messages is parked. */
  queueSource: "orders-queue",
  parkedMessage: "1",
  /** A source created by the API, with a secret, a token and a path token. */
  ownSource: "partner-hooks",
  /** A source created by the API that gets no webhooks. */
  ownTarget: "erp",
  sourceSecret: "sec_3f9c0a71d2b84e6605",
  pathToken: "Zk3wq0Yb7mR1xT5uJ8nC2vL6sD9fG4hA",
  /** A request that was ignored, and would be accepted now. */
  ignoredRequest: "req_01m7hwa0b7e6fsk6n8d3x2t9va",
  portalLink: "9f2c41d07ab8e365",
  signedOutUser: "oidc:248289761001",
  key: "key_01m7hwa17nec4b0n057n5najkh",
  keyInClear: "phk_H6YC8sgpxmyWepwJL2kfRkjtvxRf0f5c2lBldEbabdg",
  /** An active alert of a tenant. */
  alert: "alr_01m7hwa2b3e5xv0n7c9k4t6q1d",
  eventType: "order.created",
  job: "end-overlaps",
  /** An endpoint whose validation has two versions; this is the later one. */
  endpoint: "shop-orders",
  validation: { type: "object", required: ["order_id"], properties: { order_id: { type: "integer" } } },
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw0K3pQ1vNc5A=",
  /** Names not in use yet, for objects that examples create. */
  newName: "ERP",
  newTenant: "globex",
  newSource: "crm",
  newTarget: "erp-home",
  newEvent: "order-1002-created",
  newEventType: "order.paid",
  nextSecret: "whsec_mh26w3FZuVplogD3OGUGKdjOovCKujzczID2pJ3vqpw=",
} as const;
