import { gitlab } from "../../../src/sources/gitlab.ts";
import { EXAMPLE_ID, arrive, exampleOf, settingsOf, type SourceFixture } from "../source-fixture.ts";

const TOKEN = "a-token-of-the-project";
const EXAMPLE = exampleOf(gitlab, "merge_request.open");

export const fixture: SourceFixture = {
  kind: gitlab,
  settings: settingsOf("gitlab", [TOKEN]),
  sign: (at, body = EXAMPLE.body) =>
    arrive("gitlab", { at, body, headers: { ...EXAMPLE.headers, "x-gitlab-token": TOKEN } }),
  expected: { type: "gitlab.merge_request.open", identity: EXAMPLE_ID },
  coversBody: false,
  signatureHeaders: ["x-gitlab-token"],
};
