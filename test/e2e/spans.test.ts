import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { startCommand, type Running } from "../support/run-command.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { openSinkServer } from "../support/sink-server.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN_ID = "00f067aa0ba902b7";
const OWN = ["api", "core", "resources", "sdk-trace", "sdk-trace-base", "semantic-conventions"];

/** In place of the one that needs a collector: one line for each span. */
const EXPORTER = `
export class OTLPTraceExporter {
  export(spans, done) {
    for (const span of spans) {
      const { spanId, traceId } = span.spanContext();
      const service = span.resource.attributes["service.name"];
      const links = span.links.map(({ context }) => context.spanId);
      const said = { name: span.name, traceId, spanId, parent: span.parentSpanContext?.spanId, links, service };
      process.stderr.write("span " + JSON.stringify(said) + "\\n");
    }
    done({ code: 0 });
  }
  async shutdown() {}
}
`;

interface Said {
  name: string;
  traceId: string;
  spanId: string;
  parent?: string;
  links: string[];
  service: string;
}

/** What a user installs beside the gateway, and the file of docs/how-to/tracing.md. */
async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-spans-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const packages = join(folder, "node_modules/@opentelemetry");
  const exporter = join(packages, "exporter-trace-otlp-http");
  await mkdir(exporter, { recursive: true });
  for (const name of OWN) await symlink(join(PROJECT_ROOT, "node_modules/@opentelemetry", name), join(packages, name));
  await writeFile(join(exporter, "package.json"), '{ "type": "module", "exports": "./index.js" }');
  await writeFile(join(exporter, "index.js"), EXPORTER);
  const page = await readFile(join(PROJECT_ROOT, "docs/how-to/tracing.md"), "utf8");
  const [, example = ""] = /```js\n([^]*?)```/.exec(page) ?? [];
  await writeFile(join(folder, "otel.mjs"), example);
  return folder;
}

/** A webhook through the built gateway; the traceparent that went out, and the spans that were exported. */
async function deliverOne(isTraced: boolean): Promise<{ sent: string; spans: Said[]; gateway: Running }> {
  const folder = await openFolder();
  const sink = await openSinkServer();
  onTestFinished(() => sink.close());
  const subscriptions = [{ name: "books", url: `${sink.url}/hook`, events: ["webhook.#"] }];
  await writeFile(join(folder, "posthorn.yaml"), JSON.stringify({ sources: [{ name: "shop" }], subscriptions }));
  const load = isTraced ? ["--import", "./otel.mjs"] : [];
  const args = [...load, join(PROJECT_ROOT, "bin/posthorn.js"), "start", "--port", "0"];
  const gateway = startCommand(process.execPath, args, folder, {
    POSTHORN_ADMIN_KEY: "test-admin-key-0123456789",
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_DISK_MIN_FREE_BYTES: "0",
    POSTHORN_MAX_LOOP_LAG_MS: "60000",
  });
  onTestFinished(() => void gateway.child.kill("SIGKILL"));
  await gateway.printed("gateway is listening");
  const url = /"url":"([^"]+)"/.exec(gateway.output().stdout)?.[1] ?? "";
  const headers = { "content-type": "application/json", traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` };
  expect((await fetch(`${url}/webhook/shop`, { method: "POST", body: "{}", headers })).status).toBe(202);
  await until(async () => Promise.resolve(sink.requests.length === 1));
  gateway.child.kill("SIGTERM");
  const { exitCode, stderr } = await gateway.finished;
  expect(exitCode).toBe(0);
  const lines = [...stderr.matchAll(/^span (.*)$/gm)].map(([, line = ""]) => JSON.parse(line) as Said);
  return { sent: String(sink.requests[0]?.headers["traceparent"]), spans: lines, gateway };
}

describe("the built gateway", () => {
  it("records spans with the SDK of docs/how-to/tracing.md, which has another copy of the API", async () => {
    const { sent, spans, gateway } = await deliverOne(true);
    expect(gateway.output().stdout).toContain("an OpenTelemetry SDK is loaded");
    const [accept, deliver] = ["accept webhook.shop", "deliver books"].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect(accept).toMatchObject({ traceId: TRACE_ID, parent: SPAN_ID, links: [], service: "posthorn" });
    expect(deliver).toMatchObject({ traceId: TRACE_ID, parent: accept?.spanId, links: [accept?.spanId] });
    expect(sent).toBe(`00-${TRACE_ID}-${deliver?.spanId}-01`);
    expect(spans).toHaveLength(2);
  });

  it("control: records none where no SDK is loaded", async () => {
    const { sent, spans } = await deliverOne(false);
    expect(spans).toEqual([]);
    expect(sent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`));
  });
});
