import { createHash } from "node:crypto";

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

export const NOT_BUILT_POLICY = [
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
export function renderNotBuilt(version: string, state: NotBuilt): string {
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
