import { gitlab } from "../../../src/sources/gitlab.ts";
import { JSON_TYPE, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const TOKEN = "a-token-of-the-project";
const BODY = json({ object_kind: "merge_request", object_attributes: { iid: 1, action: "open" } });

export const fixture: SourceFixture = {
  kind: gitlab,
  settings: settingsOf("gitlab", [TOKEN]),
  sign: (at, body = BODY) =>
    arrive("gitlab", {
      at,
      body,
      headers: {
        ...JSON_TYPE,
        "x-gitlab-event": "Merge Request Hook",
        "idempotency-key": "f5e5f430-f57b-4e6e-9fac-d9128cd7232f",
        "x-gitlab-token": TOKEN,
      },
    }),
  expected: { type: "gitlab.merge_request.open", identity: "f5e5f430-f57b-4e6e-9fac-d9128cd7232f" },
  coversBody: false,
  signatureHeaders: ["x-gitlab-token"],
};
