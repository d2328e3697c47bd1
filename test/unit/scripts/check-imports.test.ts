import { posix } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand, type Finished } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

/** Each line: a file, what it imports, and the complaint that this must bring. */
const VIOLATIONS: [file: string, source: string, complaint: string][] = [
  ["model/a.ts", `import { x } from "../store/store.ts";`, "imports store/store.ts: model/ may import nothing but"],
  ["model/b.ts", `import { readFile } from "node:fs";`, "imports node:fs: model/ is pure"],
  ["model/c.ts", `import { isIP, connect } from "node:net";`, "imports node:net: model/ is pure"],
  ["config/a.ts", `import { x } from "../api/server.ts";`, "imports api/server.ts: config/ may import model/"],
  ["telemetry/a.ts", `import { x } from "../deliver/lane.ts";`, "imports deliver/lane.ts"],
  ["store/store.ts", `import type { X } from "../deliver/lane.ts";`, "imports deliver/lane.ts: store/ may"],
  ["store/sqlite/a.ts", `import { x } from "../../api/status.ts";`, "imports api/status.ts: store/sqlite/ may"],
  [
    "store/commit/a.ts",
    `import { x } from "../sqlite/accept.ts";`,
    "imports store/sqlite/accept.ts: store/commit/ may",
  ],
  ["queues/a.ts", `import { x } from "../store/store.ts";`, "imports store/store.ts: queues/ may import model/"],
  ["sandbox/a.ts", `import { x } from "../intake/webhook.ts";`, "imports intake/webhook.ts: sandbox/ may import"],
  ["sources/a.ts", `import { x } from "../intake/webhook.ts";`, "imports intake/webhook.ts: sources/ may import"],
  ["destinations/a.ts", `import { x } from "../deliver/lane.ts";`, "imports deliver/lane.ts: destinations/ may"],
  [
    "deliver/knowing.ts",
    `import type { X } from "../destinations/http/settings.ts";`,
    "imports destinations/http/settings.ts: only destinations/kinds.ts or destinations/senders.ts knows",
  ],
  [
    "destinations/email/kind.ts",
    `import { x } from "../http/kind.ts";`,
    "imports destinations/http/kind.ts: only destinations/kinds.ts or destinations/senders.ts knows",
  ],
  ["intake/a.ts", `import { x } from "../api/server.ts";`, "imports api/server.ts: intake/ may import"],
  ["intake/b.ts", `export { x } from "../store/sqlite/open.ts";`, "imports store/sqlite/open.ts: intake/ may import"],
  ["intake/c.ts", `import type { X } from "../deliver/lane.ts";`, "imports deliver/lane.ts: intake/ may"],
  ["accept/a.ts", `import { x } from "../intake/webhook.ts";`, "imports intake/webhook.ts: accept/ may import"],
  ["accept/b.ts", `import type { X } from "../deliver/lane.ts";`, "imports deliver/lane.ts: accept/ may import"],
  ["resources/a.ts", `import { x } from "../jobs/jobs.ts";`, "imports jobs/jobs.ts: resources/ may import"],
  ["gateway/a.ts", `import { x } from "../../plugins/one/open.ts";`, "plugins/one/open.ts: only plugins.ts knows"],
  ["../plugins/two/a.ts", `import { x } from "../one/open.ts";`, "plugins/one/open.ts: only plugins.ts knows"],
  ["../plugins/two/b.ts", `import { x } from "../../src/jobs/jobs.ts";`, "imports jobs/jobs.ts: plugins/ may import"],
  ["../plugins/two/c.ts", `import { x } from "../../test/support/x.ts";`, "which is outside src/"],
  ["deliver/a.ts", `import { x } from "../accept/router.ts";`, "imports accept/router.ts: deliver/ may import"],
  ["deliver/b.ts", `const x = await import("../api/server.ts");`, "imports api/server.ts: deliver/ may import"],
  ["jobs/a.ts", `import { x } from "../api/server.ts";`, "imports api/server.ts: jobs/ may import"],
  ["alerts/a.ts", `import { x } from "../replays/resume.ts";`, "imports replays/resume.ts: alerts/ may import"],
  ["api/a.ts", `import { x } from "../gateway.ts";`, "imports gateway.ts: api/ may import"],
  ["api/b.ts", `import { x } from "../config/load.ts";`, "imports config/load.ts: api/ may import"],
  ["gateway.ts", `import { x } from "./cli/main.ts";`, "imports cli/main.ts: gateway.ts may import"],
  ["cli/a.ts", `import { x } from "../../test/support/x.ts";`, "which is outside src/"],
  ["jobs/sdk.ts", `import { x } from "../../sdk/src/client/transport.ts";`, "which is outside src/"],
  ["cli/sink.ts", `const x = await import("../gateway.ts");`, "imports gateway.ts: cli/ may import"],
  ["cli/resources/a.ts", `import { x } from "../../api/server.ts";`, "imports api/server.ts: cli/ may"],
  [
    "cli/start.ts",
    `import { x } from "../gateway.ts"; import { y } from "../api/server.ts";`,
    "imports api/server.ts: cli/start.ts may import",
  ],
  ["elsewhere/a.ts", `import { x } from "../model/event.ts";`, "has no line in the table"],
  ["jobs/b.ts", `import { request } from "undici";`, "imports request of undici: all outgoing requests"],
  [
    "destinations/wire/http-client.ts",
    `import { connect } from "node:net";`,
    "imports connect of node:net: every socket",
  ],
  ["jobs/c.ts", `import { get } from "node:https";`, "imports get of node:https: all outgoing requests"],
  ["jobs/d.ts", `import http from "node:http";`, "imports * of node:http: all outgoing requests"],
  ["jobs/e.ts", `import { connect } from "node:http2";`, "imports connect of node:http2"],
  ["deliver/c.ts", `import { createServer } from "node:http";`, "imports createServer of node:http: only api/"],
  ["deliver/d.ts", `import { env } from "node:process";`, "imports env of node:process: only config/"],
  ["jobs/f.ts", `import { DatabaseSync } from "@photostructure/sqlite";`, "only the driver knows its database"],
  [
    "deliver/claims.ts",
    `import type { X } from "./lane.ts";`,
    "deliver/claims.ts → deliver/lane.ts → deliver/settle.ts",
  ],
];

const ALLOWED: [file: string, source: string][] = [
  ["model/fine.ts", `import { createHmac } from "node:crypto"; import { x } from "./event.ts";`],
  ["model/address.ts", `import { isIP } from "node:net";`],
  ["store/sqlite/fine.ts", `import type { Store } from "../store.ts"; import { x } from "./accept.ts";`],
  ["store/sqlite/database.ts", `import { DatabaseSync } from "@photostructure/sqlite";`],
  ["destinations/http/sender.ts", `import { x } from "../wire/http-client.ts"; import type { Y } from "../sender.ts";`],
  ["deliver/settle.ts", `import { X } from "./claims.ts"; import type { Y } from "./pace.ts";`],
  ["deliver/lane.ts", `import type { X } from "./settle.ts"; import type { Y } from "./pace.ts";`],
  ["deliver/pace.ts", `import type { X } from "../model/clock.ts";`],
  ["destinations/kinds.ts", `import { HTTP } from "./http/kind.ts";`],
  ["cli/listen/local-server.ts", `import { Agent } from "undici"; import { Agent as Other } from "node:https";`],
  [
    "destinations/wire/guarded-connect.ts",
    `import { connect } from "node:net"; import { connect as other } from "node:tls";`,
  ],
  ["deliver/e.ts", `import { isIP, type Socket } from "node:net";`],
  [
    "intake/fine.ts",
    `import type { Store } from "../store/store.ts"; import type { IncomingMessage } from "node:http";`,
  ],
  ["intake/text.ts", `// import { x } from "../api/server.ts";\nexport const text = 'from "../api/server.ts"';`],
  ["api/server.ts", `import { createServer } from "node:http"; import { x } from "../intake/fine.ts";`],
  ["cli/resources/fine.ts", `import { x } from "../../model/target.ts"; import { y } from "../connect.ts";`],
  ["cli/api-client.ts", `import { createTransport } from "../../sdk/src/client/transport.ts";`],
  ["cli/restore.ts", `import { x } from "../store/sqlite/check-copy.ts";`],
  ["plugins.ts", `import { one } from "../plugins/one/plugin.ts";`],
  ["../plugins/one/plugin.ts", `import type { Plugin } from "../../src/plugin.ts"; import { x } from "./open.ts";`],
];

const pathOf = (file: string) => posix.normalize(`src/${file}`);

describe("the directions of imports", () => {
  let sample: SampleCheckout;
  let result: Finished;
  beforeAll(async () => {
    sample = await openSampleFolder();
    for (const [file, source] of [...VIOLATIONS, ...ALLOWED]) await sample.write(pathOf(file), source);
    result = await runCommand(process.execPath, ["scripts/check-imports.mjs", sample.root], PROJECT_ROOT);
  });
  afterAll(() => sample.remove());

  it.each(VIOLATIONS)("forbid what src/%s does: %s", (file, _source, complaint) => {
    const line = result.stdout.split("\n").find((text) => text.startsWith(`${pathOf(file)} `));
    expect(line).toContain(complaint);
    expect(result.exitCode).toBe(1);
  });

  it.each(ALLOWED)("allow what src/%s does: %s", (file) => {
    expect(result.stdout).not.toContain(`${pathOf(file)} `);
  });
});
