// A gateway from the sources of another checkout, with one source of the kind that an example adds. It tells how that
// answered a request that is signed and one that is not. usage: node --import tsx example-gateway.mjs ROOT
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [root = ""] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(root, "src", path)).href);
const { loadConfig } = await load("config/load.ts");
const { startGateway } = await load("gateway.ts");
const { createLogger } = await load("telemetry/logger.ts");

const SECRET = "a secret of the example, long enough";
const KEY = "test-admin-key-0123456789";
const BODY = '{"kind":"order.paid","total":7}';
const env = {
  POSTHORN_PORT: "0",
  POSTHORN_DATA_DIR: join(root, "data"),
  POSTHORN_ADMIN_KEY: KEY,
  POSTHORN_BALLAST_BYTES: "0",
  POSTHORN_DISK_MIN_FREE_BYTES: "0",
};
const { config } = loadConfig({ env, cwd: root });
const logger = createLogger({ level: "fatal", maxBytes: 1_000_000, keep: 1, pretty: false });
const gateway = await startGateway(config, {
  logger,
  onFatal: () => process.exit(1),
  // Threads would start from a build, which there is none of.
  makers: { openStore: (open) => (url, options) => open(url, { ...options, thread: false }) },
});

async function request(method, path, headers, body) {
  const response = await fetch(gateway.url + path, { method, headers, ...(body !== undefined && { body }) });
  return response.json();
}
const json = { "content-type": "application/json" };
const signature = createHmac("sha256", SECRET).update(BODY).digest("hex");
const source = JSON.stringify({ name: "shop", kind: "acme", secrets: [SECRET] });
const made = await request("POST", "/api/v1/sources", { ...json, "x-api-key": KEY }, source);
const signed = { ...json, "acme-id": "a-1", "acme-signature": signature };
const taken = await request("POST", "/webhook/shop", signed, BODY);
const again = await request("POST", "/webhook/shop", signed, BODY);
const refused = await request("POST", "/webhook/shop", { ...signed, "acme-signature": "00" }, BODY);
const event = await request("GET", `/api/v1/events/${taken.event_id}`, { "x-api-key": KEY });
await gateway.stop();
process.stdout.write(JSON.stringify({ made, taken, again, refused, event }));
