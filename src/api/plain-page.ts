import { createHash } from "node:crypto";

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** A page of the gateway itself, without files: nothing is loaded, and only its own style and script may run. */
export function createPlainPage({ style, script }: { style: string; script?: string }) {
  const policy = [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`]),
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
      // Its address may have a token, or the code of a provider.
      "referrer-policy": "no-referrer",
    },
    begin: (title: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)}</title>
<style>${style}</style>${script === undefined ? "" : `\n<script>${script}</script>`}
</head>
<body>
`,
    end: "</body>\n</html>\n",
  };
}

export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
