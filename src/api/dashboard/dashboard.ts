import type { FastifyReply, FastifyRequest } from "fastify";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isKnown, prepare, sendPrepared, type Prepared } from "../prepared.ts";
import { createBuiltFiles, INDEX, type BuiltFile } from "./built-files.ts";
import type { NotBuilt } from "./not-built-page.ts";
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
    const { NOT_BUILT_POLICY, renderNotBuilt } = await import("./not-built-page.ts");
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
