import { createHash } from "node:crypto";

const STYLE = `
:root { color-scheme: light dark; background: Canvas; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 36rem; margin: 4rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.4rem; }
p { overflow-wrap: anywhere; }
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const FAILURE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  // The address of the page has the provider's code.
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;

/** For a browser that comes back from the provider without being signed in. */
export function renderSignInFailure({ title, detail }: { title: string; detail: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Posthorn</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
<p>${escape(detail)}</p>
<p><a href="/sign-in">Back to the sign-in</a></p>
</main>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
