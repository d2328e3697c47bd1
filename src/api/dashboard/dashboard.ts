import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isKnown, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { DASHBOARD_PAGES, FRAMED_PAGE } from "./pages.ts";

/** Serves the dashboard's files. Without a session a visitor sees only the sign-in page. */
export interface Dashboard {
  /** Answers with the dashboard's page, or with one that says that it is not built yet. */
  sendPage(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** For paths without a route: sends a file or a page of the dashboard. Returns false for other paths. */
  send(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
}

export interface DashboardOptions {
  version: string;
  /** The folder of the built files. */
  folder?: string | undefined;
  /** Other sites that may show the partner page in a frame. */
  frameOrigins: readonly string[];
}

/** The same path from the sources and from the build. */
const BUILT = fileURLToPath(new URL("../../../dist/dashboard/", import.meta.url));
/** Beside that folder: the last build failed. Written by scripts/build-dashboard.mjs. */
const FAILED = "../.dashboard-failed";
const ASSETS = "assets/";
/** The names of these files change with their content. */
const FOR_EVER = "public, max-age=31536000, immutable";
const PAGES: ReadonlySet<string> = new Set(DASHBOARD_PAGES);

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export function createDashboard({ version, folder = BUILT, frameOrigins }: DashboardOptions): Dashboard {
  const files = createBuiltFiles(folder);
  const notBuilt: Partial<Record<NotBuilt, Promise<Prepared>>> = {};
  const framed = frameOrigins.length === 0 ? "'none'" : frameOrigins.join(" ");

  async function makeNotBuilt(state: NotBuilt): Promise<Prepared> {
    return prepare(renderNotBuilt(version, state), {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": NOT_BUILT_POLICY,
      "referrer-policy": "no-referrer",
    });
  }

  async function sendPage(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const index = await files.find(INDEX);
    if (index === undefined) {
      const state = existsSync(join(folder, FAILED)) ? "failed" : "building";
      return void sendPrepared(request, reply, await (notBuilt[state] ??= makeNotBuilt(state)));
    }
    const ancestors = pageOf(request) === FRAMED_PAGE ? framed : "'none'";
    reply.headers({
      "content-security-policy": `${POLICY}; frame-ancestors ${ancestors}`,
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cache-control": "no-cache",
    });
    sendFile(request, reply, index);
  }

  return {
    sendPage,
    async send(request, reply) {
      if (request.method !== "GET" && request.method !== "HEAD") return false;
      const path = pathOf(request);
      if (PAGES.has(pageOf(request))) {
        await sendPage(request, reply);
        return true;
      }
      if (!path.startsWith(`/${ASSETS}`)) return false;
      const file = await files.find(path.slice(1));
      if (file === undefined) return false;
      reply.header("cache-control", FOR_EVER);
      sendFile(request, reply, file);
      return true;
    },
  };
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, etag, plain, gzip, br }: BuiltFile): void {
  reply.headers({ "content-type": type, vary: "accept-encoding", etag });
  if (isKnown(request.headers["if-none-match"], etag)) return void reply.code(304).send();
  const accepted = request.headers["accept-encoding"] ?? "";
  const packed = br !== undefined && takes(accepted, "br") ? { name: "br", bytes: br } : undefined;
  const form = packed ?? (gzip !== undefined && takes(accepted, "gzip") ? { name: "gzip", bytes: gzip } : undefined);
  if (form === undefined) return void reply.send(plain);
  void reply.header("content-encoding", form.name).send(form.bytes);
}

function takes(accepted: string, encoding: string): boolean {
  return accepted.split(",").some((one) => {
    const [name = "", ...parameters] = one.split(";").map((part) => part.trim());
    return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

function pathOf({ url }: FastifyRequest): string {
  return url.split("?", 1)[0] ?? url;
}

function pageOf(request: FastifyRequest): string {
  return pathOf(request).split("/")[1] ?? "";
}

/** A file of the dashboard, with the versions that were compressed at build time. */
export interface BuiltFile {
  type: string;
  etag: string;
  plain: Buffer;
  gzip: Buffer | undefined;
  br: Buffer | undefined;
}

/** The built files of the dashboard, in memory. */
export interface BuiltFiles {
  /** Finds a file by its path in the folder; undefined when it does not exist or nothing is built yet. */
  find(path: string): Promise<BuiltFile | undefined>;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const INDEX = "index.html";

/** The index is checked each time, so that a new build is noticed while the gateway runs. */
function createBuiltFiles(folder: string): BuiltFiles {
  let builtAt: number | undefined;
  let current = new Map<string, BuiltFile>();
  /** Open pages still ask for files of the previous build. */
  let former = new Map<string, BuiltFile>();
  let loading: Promise<void> = Promise.resolve();

  async function refresh(): Promise<void> {
    const index = await stat(join(folder, INDEX)).catch(() => undefined);
    if (index === undefined || index.mtimeMs === builtAt) return;
    const loaded = await load(folder).catch(() => undefined);
    // The file was replaced meanwhile: the next request gets the new one.
    if (loaded === undefined) return;
    [former, current] = [current, loaded];
    builtAt = index.mtimeMs;
  }

  return {
    async find(path) {
      const known = current.get(path);
      if (known !== undefined && path !== INDEX) return known;
      loading = loading.then(refresh);
      await loading;
      return current.get(path) ?? former.get(path);
    },
  };
}

async function load(folder: string): Promise<Map<string, BuiltFile>> {
  const names = await readdir(folder, { recursive: true });
  const files = new Map<string, BuiltFile>();
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const plain = await readFile(path);
    const packed = (suffix: string) => readFile(path + suffix).catch(() => undefined);
    files.set(name.split(sep).join(posix.sep), {
      type,
      etag: `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
      plain,
      gzip: await packed(".gz"),
      br: await packed(".br"),
    });
  }
  return files;
}

const STYLE = `
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1.25rem; }
h1 { margin-bottom: 0; } h1 small { font-weight: 400; font-size: 1rem; opacity: .7; }
code, pre { font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { padding: .75rem 1rem; overflow-x: auto; border: 1px solid; border-radius: 6px; }
dt { font-weight: 600; margin-top: .75rem; } dd { margin: 0; }
`;

/** Not by markup: that may only jump to the part behind #, which the link of the first start has. */
const SCRIPT = "setTimeout(() => location.reload(), 5000);";

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const NOT_BUILT_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const STATES = {
  building: "Its dashboard is being built; it will be on this page in a moment.",
  failed:
    "Its dashboard could not be built; the terminal of the gateway says why. After a fix " +
    "<code>node scripts/build-dashboard.mjs</code> tries again, and the gateway need not be restarted.",
} as const;
export type NotBuilt = keyof typeof STATES;

/** In place of every page of the dashboard while that is not built. Asks again by itself, with the token of a link. */
function renderNotBuilt(version: string, state: NotBuilt): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Posthorn</title>
<style>${STYLE}</style>
<script>${SCRIPT}</script>
<h1>Posthorn <small>${version}</small></h1>
<p>This webhook gateway is running. ${STATES[state]}</p>
<dl>
<dt><a href="/docs">API reference</a></dt><dd>Every route, with examples; <a href="/openapi.json">as OpenAPI</a></dd>
<dt><a href="/readyz">Readiness</a></dt><dd>Whether it accepts requests, and on which store</dd>
<dt><code>/status</code></dt><dd>Modes, queues and targets; needs a key</dd>
<dt><code>/metrics</code></dt><dd>For Prometheus; needs a key</dd>
</dl>
<p>Send a first webhook:</p>
<pre>posthorn send --webhook hello --data '{"hello": "world"}'</pre>
<p>See what arrived:</p>
<pre>posthorn events</pre>
</html>
`;
}
