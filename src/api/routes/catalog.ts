import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { EventType, EventTypeVersion } from "../../model/event-type.ts";
import { createPlainPage, escapeText } from "../plain-page.ts";
import { nextTurn, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { isoTime } from "../present.ts";
import type { Parts } from "./parts.ts";
import { OPEN, routesOf } from "./route.ts";

const PARTS_IN_A_TURN = 20;

/** The page for partners. It exists only if the operator makes it public. */
export function addCatalogRoute(app: FastifyInstance, { eventTypes }: Parts): void {
  const route = routesOf(app, "Event types");
  let made: { of: readonly EventType[]; page: Promise<Prepared> } | undefined;

  route("GET /catalog", OPEN, "Show the event catalogue for partners", {
    description: "A page for partners. It is available only while the setting `catalog_public` is on.",
    answer: () => ({
      description: "The page with all event types",
      schema: Type.String(),
      contentType: "text/html",
      example: "<!doctype html>…",
    }),
    async handle(request, reply) {
      const types = eventTypes.list();
      // Rendered once for each version of the registry.
      if (made?.of !== types) made = { of: types, page: make(types) };
      return sendPrepared(request, reply, await made.page);
    },
  });
}

async function make(types: readonly EventType[]): Promise<Prepared> {
  const parts: string[] = [];
  for (const part of writeCatalog(types)) {
    parts.push(part);
    if (parts.length % PARTS_IN_A_TURN === 0) await nextTurn();
  }
  return prepare(parts.join(""), CATALOG_PAGE.headers);
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #777; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0 0 .25rem; }
h2 { font: 600 1.1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
h2 a { color: inherit; text-decoration: none; }
nav ul { columns: 16rem; padding: 0; list-style: none; font: .9rem ui-monospace, monospace; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt, .dim { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { overflow: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; font-size: .85rem; }
.deprecated { color: #b45309; }
`;

export const CATALOG_PAGE = createPlainPage({ style: STYLE });

/** Yields one part per type, because with thousands of types the page is long. */
export function* writeCatalog(types: readonly EventType[]): Generator<string, void> {
  const list = types.map(({ name }) => `<li><a href="#${name}">${escapeText(name)}</a></li>`);
  yield `${CATALOG_PAGE.begin("Event catalogue")}<h1>Event catalogue</h1>
<p class="dim">${types.length === 1 ? "1 event type" : `${types.length} event types`}</p>
<nav aria-label="Event types"><ul>${list.join("")}</ul></nav>
<main>
`;
  for (const type of types) yield `${renderType(type)}\n`;
  yield `</main>\n${CATALOG_PAGE.end}`;
}

function renderType(type: EventType): string {
  // Producer and consumers are left out, as in the portal: who else sends and gets such events is no business of a partner's.
  const versions = type.versions.map(({ version }) => version).join(", ");
  return `<article id="${type.name}">
<h2><a href="#${type.name}">${escapeText(type.name)}</a></h2>
${type.status === "deprecated" ? renderDeprecation(type) : ""}
${type.description === undefined ? "" : `<p>${escapeText(type.description)}</p>`}
${versions === "" ? "" : `<dl><dt>Versions</dt><dd>${escapeText(versions)}</dd></dl>`}
${[...type.versions].reverse().map(renderVersion).join("\n")}
</article>`;
}

function renderDeprecation({ deprecatedAt, replacedBy }: EventType): string {
  const since = deprecatedAt === undefined ? "" : ` since ${isoTime(deprecatedAt).slice(0, 10)}`;
  const instead =
    replacedBy === undefined ? "" : `. Use <a href="#${escapeText(replacedBy)}">${escapeText(replacedBy)}</a> instead`;
  return `<p class="deprecated"><strong>Deprecated</strong>${since}${instead}.</p>`;
}

function renderVersion({ version, schema, example }: EventTypeVersion): string {
  const shown = (title: string, value: unknown) =>
    `<details><summary>${title}, version ${escapeText(version)}</summary>` +
    `<pre>${escapeText(JSON.stringify(value, null, 2))}</pre></details>`;
  return shown("Schema", schema) + (example === undefined ? "" : shown("Example", example));
}
