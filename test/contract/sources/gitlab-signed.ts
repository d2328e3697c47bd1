import { Webhook } from "standardwebhooks";
import { gitlab } from "../../../src/sources/gitlab.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SIGNING_TOKEN = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const ID = "f5e5f430-f57b-4e6e-9fac-d9128cd7232f";
const BODY = json({ object_kind: "push", event_name: "push", ref: "refs/heads/main" });

/** GitLab with a signing token. */
export const fixture: SourceFixture = {
  kind: gitlab,
  settings: settingsOf("gitlab", [SIGNING_TOKEN]),
  sign: (at, body = BODY) =>
    arrive("gitlab", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "x-gitlab-event": "Push Hook",
        "idempotency-key": ID,
        "webhook-id": ID,
        "webhook-timestamp": String(Math.floor(at / 1000)),
        "webhook-signature": new Webhook(SIGNING_TOKEN).sign(ID, new Date(at), body),
      },
    }),
  expected: { type: "gitlab.push", identity: ID },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  forgeries: [
    {
      name: "the signing token sent as a token",
      request: (at) => arrive("gitlab", { at, body: BODY, headers: { ...JSON_TYPE, "x-gitlab-token": SIGNING_TOKEN } }),
    },
  ],
};
