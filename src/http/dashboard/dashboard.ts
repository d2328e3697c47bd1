import type { FastifyReply, FastifyRequest } from "fastify";
import { fileURLToPath } from "node:url";
import { isKnown } from "../prepared.ts";
import { createBuiltFiles, INDEX, type BuiltFile } from "./built-files.ts";
import { DASHBOARD_PAGES, FRAMED_PAGE } from "./pages.ts";

/** Serves the dashboard's files. Without a session a visitor sees only the sign-in page. */
export interface Dashboard {
  /** Answers with the dashboard's page. Returns false when the dashboard is not built yet. */
  sendPage(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
  /** For paths without a route: sends a file or a page of the dashboard. Returns false for other paths. */
  send(request: FastifyRequest, reply: FastifyReply): Promise<boolean>;
}

export interface DashboardOptions {
  /** The folder of the built files. */
  folder?: string | undefined;
  /** Other sites that may show the partner page in a frame. */
  frameOrigins: readonly string[];
}

/** The same path from the sources and from the build. */
const BUILT = fileURLToPath(new URL("../../../dist/dashboard/", import.meta.url));
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

export function createDashboard({ folder = BUILT, frameOrigins }: DashboardOptions): Dashboard {
  const files = createBuiltFiles(folder);
  const framed = frameOrigins.length === 0 ? "'none'" : frameOrigins.join(" ");

  async function sendPage(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const index = await files.find(INDEX);
    if (index === undefined) return false;
    const ancestors = pageOf(request) === FRAMED_PAGE ? framed : "'none'";
    reply.headers({
      "content-security-policy": `${POLICY}; frame-ancestors ${ancestors}`,
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cache-control": "no-cache",
    });
    sendFile(request, reply, index);
    return true;
  }

  return {
    sendPage,
    async send(request, reply) {
      if (request.method !== "GET" && request.method !== "HEAD") return false;
      const path = pathOf(request);
      if (PAGES.has(pageOf(request))) return sendPage(request, reply);
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
