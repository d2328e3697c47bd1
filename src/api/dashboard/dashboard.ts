import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createPlainPage } from "../plain-page.ts";
import { etagOfContent, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { DASHBOARD_PAGES, FRAMED_PAGE } from "./pages.ts";

export type Dashboard = ReturnType<typeof createDashboard>;

interface DashboardOptions {
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
const INDEX = "index.html";
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

/** What is built from dashboard/: the page of each. */
const BUILT_PAGES = { dashboard: INDEX, "API reference": "reference.html" } as const;
type Built = keyof typeof BUILT_PAGES;

/** Serves the dashboard's files. Without a session a visitor sees only the sign-in page. */
export function createDashboard({ version, folder = BUILT, frameOrigins }: DashboardOptions) {
  const files = createBuiltFiles(folder);
  const notBuilt: Partial<Record<`${Built} ${NotBuilt}`, Promise<Prepared>>> = {};
  const framed = frameOrigins.length === 0 ? "'none'" : frameOrigins.join(" ");

  /** Answers with a page, or with one that says that it is not built yet. */
  async function sendPage(request: FastifyRequest, reply: FastifyReply, what: Built = "dashboard"): Promise<void> {
    const page = await files.find(BUILT_PAGES[what]);
    if (page === undefined) {
      const state = existsSync(join(folder, FAILED)) ? "failed" : "building";
      return void sendPrepared(
        request,
        reply,
        await (notBuilt[`${what} ${state}`] ??= prepareNotBuilt(version, what, state)),
      );
    }
    const ancestors = pageOf(request) === FRAMED_PAGE ? framed : "'none'";
    reply.headers({
      "content-security-policy": `${POLICY}; frame-ancestors ${ancestors}`,
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
    });
    sendPrepared(request, reply, page);
  }

  return {
    sendPage,
    /** For paths without a route: sends a file or a page of the dashboard. Returns false for other paths. */
    async send(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
      if (request.method !== "GET" && request.method !== "HEAD") return false;
      const path = pathOf(request);
      if (PAGES.has(pageOf(request))) {
        await sendPage(request, reply);
        return true;
      }
      if (!path.startsWith(`/${ASSETS}`)) return false;
      const file = await files.find(path.slice(1));
      if (file === undefined) return false;
      sendPrepared(request, reply, { ...file, headers: { ...file.headers, "cache-control": FOR_EVER } });
      return true;
    },
  };
}

function pathOf({ url }: FastifyRequest): string {
  return url.split("?", 1)[0] ?? url;
}

function pageOf(request: FastifyRequest): string {
  return pathOf(request).split("/")[1] ?? "";
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The built files, in memory. The index is checked for each page, so that a new build is noticed. */
function createBuiltFiles(folder: string) {
  let builtAt: number | undefined;
  let current = new Map<string, Prepared>();
  /** Open pages still ask for files of the previous build. */
  let former = new Map<string, Prepared>();
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
    /** Undefined when it does not exist or nothing is built yet. */
    async find(path: string): Promise<Prepared | undefined> {
      const known = current.get(path);
      if (known !== undefined && extname(path) !== ".html") return known;
      loading = loading.then(refresh);
      await loading;
      return current.get(path) ?? former.get(path);
    },
  };
}

/** With the versions that were compressed at build time. */
async function load(folder: string): Promise<Map<string, Prepared>> {
  const names = await readdir(folder, { recursive: true });
  const files = new Map<string, Prepared>();
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const plain = await readFile(path);
    const packed = (suffix: string) => readFile(path + suffix).catch(() => undefined);
    files.set(name.split(sep).join(posix.sep), {
      headers: { "content-type": type },
      etag: etagOfContent(plain),
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

const STATES = {
  building: "is being built; it will be on this page in a moment.",
  failed:
    "could not be built; the terminal of the gateway says why. After a fix <code>node " +
    "scripts/build-dashboard.mjs</code> tries again, and the gateway need not be restarted.",
} as const;
type NotBuilt = keyof typeof STATES;

/** In place of every page of the dashboard while that is not built. Asks again by itself, with the token of a link. */
function prepareNotBuilt(version: string, what: Built, state: NotBuilt): Promise<Prepared> {
  const page = createPlainPage({ style: STYLE, script: SCRIPT });
  const text = `<h1>Posthorn <small>${version}</small></h1>
<p>This webhook gateway is running. Its ${what} ${STATES[state]}</p>
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
`;
  return prepare(page.begin("Posthorn") + text + page.end, page.headers);
}
