import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand, type Finished } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

/** Each line: a file, what it imports, and the complaint that this must bring. */
const VIOLATIONS: [file: string, source: string, complaint: string][] = [
  ["domain/a.ts", `import { x } from "../store/store.ts";`, "imports store/store.ts: domain/ may import nothing but"],
  ["domain/b.ts", `import { readFile } from "node:fs";`, "imports node:fs: domain/ is pure"],
  ["domain/c.ts", `import { isIP, connect } from "node:net";`, "imports node:net: domain/ is pure"],
  ["config/a.ts", `import { x } from "../http/server.ts";`, "imports http/server.ts: config/ may import domain/"],
  ["telemetry/a.ts", `import { x } from "../deliver/lane.ts";`, "imports deliver/lane.ts"],
  ["store/store.ts", `import type { X } from "../deliver/lane.ts";`, "imports deliver/lane.ts: store/store.ts may"],
  ["store/sqlite/a.ts", `import { x } from "../../operate/status.ts";`, "imports operate/status.ts: store/sqlite/ may"],
  ["store/postgres/a.ts", `import { x } from "../sqlite/accept.ts";`, "imports store/sqlite/accept.ts"],
  ["brokers/a.ts", `import { x } from "../store/store.ts";`, "imports store/store.ts: brokers/ may import domain/"],
  ["deliver/senders/sender.ts", `import type { X } from "../lane.ts";`, "imports deliver/lane.ts"],
  [
    "deliver/senders/a.ts",
    `import { x } from "../scheduler.ts";`,
    "imports deliver/scheduler.ts: deliver/senders/ may",
  ],
  [
    "deliver/knowing.ts",
    `import type { X } from "./senders/http/settings.ts";`,
    "imports deliver/senders/http/settings.ts: only deliver/senders/kinds.ts knows",
  ],
  [
    "deliver/senders/email/kind.ts",
    `import { x } from "../http/kind.ts";`,
    "imports deliver/senders/http/kind.ts: only deliver/senders/kinds.ts knows",
  ],
  ["receive/a.ts", `import { x } from "../http/server.ts";`, "imports http/server.ts: receive/ may import"],
  ["receive/b.ts", `export { x } from "../store/sqlite/open.ts";`, "imports store/sqlite/open.ts: receive/ may import"],
  [
    "receive/c.ts",
    `import type { X } from "../deliver/forwards.ts";`,
    "imports deliver/forwards.ts: receive/ may import",
  ],
  ["receive/d.ts", `import { x } from "../plugins/plugins.ts";`, "imports plugins/plugins.ts: receive/ may import"],
  [
    "route/b.ts",
    `import type { X } from "../deliver/scheduler.ts";`,
    "imports deliver/scheduler.ts: route/ may import",
  ],
  ["registry/a.ts", `import { x } from "../deliver/scheduler.ts";`, "imports deliver/scheduler.ts: registry/ may"],
  ["gateway/a.ts", `import { x } from "../plugins/one/open.ts";`, "plugins/one/open.ts: only plugins/plugins.ts knows"],
  ["plugins/two/a.ts", `import { x } from "../one/open.ts";`, "plugins/one/open.ts: only plugins/plugins.ts knows"],
  ["route/a.ts", `import { x } from "../receive/a.ts";`, "imports receive/a.ts: route/ may import"],
  ["deliver/a.ts", `import { x } from "../receive/a.ts";`, "imports receive/a.ts: deliver/ may import"],
  ["deliver/b.ts", `const x = await import("../http/server.ts");`, "imports http/server.ts: deliver/ may import"],
  ["operate/a.ts", `import { x } from "../http/server.ts";`, "imports http/server.ts: operate/ may import"],
  ["http/a.ts", `import { x } from "../gateway.ts";`, "imports gateway.ts: http/ may import"],
  ["http/b.ts", `import { x } from "../config/load.ts";`, "imports config/load.ts: http/ may import"],
  ["gateway.ts", `import { x } from "./cli/main.ts";`, "imports cli/main.ts: gateway.ts may import"],
  ["cli/a.ts", `import { x } from "../../test/support/x.ts";`, "which is outside src/"],
  ["cli/sink.ts", `const x = await import("../gateway.ts");`, "imports gateway.ts: cli/ may import config/"],
  ["cli/status.ts", `import { x } from "../store/sqlite/open.ts";`, "imports store/sqlite/open.ts: cli/ may import"],
  ["cli/resources/a.ts", `import { x } from "../../http/server.ts";`, "imports http/server.ts: cli/resources/ may"],
  ["cli/backup/a.ts", `import { x } from "../../gateway.ts";`, "imports gateway.ts: cli/backup/ may import"],
  [
    "cli/start.ts",
    `import { x } from "../gateway.ts"; import { y } from "../http/server.ts";`,
    "imports http/server.ts: cli/start.ts may import",
  ],
  ["cli/doctor/a.ts", `import { x } from "../../gateway.ts";`, "imports gateway.ts: cli/doctor/ may import"],
  ["elsewhere/a.ts", `import { x } from "../domain/event.ts";`, "has no line in the table"],
  ["operate/b.ts", `import { request } from "undici";`, "imports request of undici: all outgoing requests"],
  ["deliver/wire/http-client.ts", `import { connect } from "node:net";`, "imports connect of node:net: every socket"],
  ["operate/c.ts", `import { get } from "node:https";`, "imports get of node:https: all outgoing requests"],
  ["operate/d.ts", `import http from "node:http";`, "imports * of node:http: all outgoing requests"],
  ["operate/e.ts", `import { connect } from "node:http2";`, "imports connect of node:http2"],
  ["deliver/c.ts", `import { createServer } from "node:http";`, "imports createServer of node:http: only http/"],
  ["deliver/d.ts", `import { env } from "node:process";`, "imports env of node:process: only config/"],
  ["operate/f.ts", `import { DatabaseSync } from "@photostructure/sqlite";`, "only the driver knows its database"],
  [
    "deliver/claims.ts",
    `import type { X } from "./lane.ts";`,
    "deliver/claims.ts → deliver/lane.ts → deliver/settle.ts",
  ],
  ["operate/g.ts", `import { Pool } from "pg";`, "imports Pool of pg: only the driver knows its database"],
];

const ALLOWED: [file: string, source: string][] = [
  ["domain/fine.ts", `import { createHmac } from "node:crypto"; import { x } from "./event.ts";`],
  ["domain/address.ts", `import { isIP } from "node:net";`],
  ["store/sqlite/fine.ts", `import type { Store } from "../store.ts"; import { x } from "./accept.ts";`],
  ["store/sqlite/database.ts", `import { DatabaseSync } from "@photostructure/sqlite";`],
  [
    "deliver/senders/http/sender.ts",
    `import { x } from "../../wire/http-client.ts"; import type { Y } from "../sender.ts";`,
  ],
  ["deliver/settle.ts", `import { X } from "./claims.ts"; import type { Y } from "./pace.ts";`],
  ["deliver/lane.ts", `import type { X } from "./settle.ts"; import type { Y } from "./pace.ts";`],
  ["deliver/pace.ts", `import type { X } from "../domain/clock.ts";`],
  ["deliver/senders/kinds.ts", `import { HTTP } from "./http/kind.ts";`],
  ["cli/api-client.ts", `import { Agent } from "undici"; import { Agent as Other } from "node:https";`],
  [
    "deliver/wire/guarded-connect.ts",
    `import { connect } from "node:net"; import { connect as other } from "node:tls";`,
  ],
  ["deliver/e.ts", `import { isIP, type Socket } from "node:net";`],
  [
    "receive/fine.ts",
    `import type { Store } from "../store/store.ts"; import type { IncomingMessage } from "node:http";`,
  ],
  ["receive/text.ts", `// import { x } from "../http/server.ts";\nexport const text = 'from "../http/server.ts"';`],
  ["http/server.ts", `import { createServer } from "node:http"; import { x } from "../receive/fine.ts";`],
  ["cli/resources/fine.ts", `import { x } from "../../domain/target.ts"; import { y } from "../connect.ts";`],
  ["cli/restore.ts", `import { x } from "../store/sqlite/check-copy.ts";`],
  ["plugins/plugins.ts", `import { one } from "./one/plugin.ts";`],
  ["plugins/one/plugin.ts", `import type { Plugin } from "../plugin.ts"; import { x } from "./open.ts";`],
];

describe("the directions of imports", () => {
  let sample: SampleCheckout;
  let result: Finished;
  beforeAll(async () => {
    sample = await openSampleFolder();
    for (const [file, source] of [...VIOLATIONS, ...ALLOWED]) await sample.write(`src/${file}`, source);
    result = await runCommand(process.execPath, ["scripts/check-imports.mjs", sample.root], PROJECT_ROOT);
  });
  afterAll(() => sample.remove());

  it.each(VIOLATIONS)("forbid what src/%s does: %s", (file, _source, complaint) => {
    const line = result.stdout.split("\n").find((text) => text.startsWith(`src/${file} `));
    expect(line).toContain(complaint);
    expect(result.exitCode).toBe(1);
  });

  it.each(ALLOWED)("allow what src/%s does: %s", (file) => {
    expect(result.stdout).not.toContain(`src/${file} `);
  });
});
