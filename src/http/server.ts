import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from "fastify";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { ERRORS, PosthornError } from "../domain/errors.ts";
import type { Scope } from "../registry/api-key.ts";
import type { Author, Authors } from "../registry/authors.ts";
import { allows, type Caller } from "../registry/keys.ts";
import type { Activity } from "../telemetry/activity.ts";
import type { NoteServerError } from "../telemetry/server-errors.ts";
import type { Authenticate } from "./authenticate.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import { refusePartner } from "./session/partner-routes.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";
import { HOT_ROUTES, refuseEncoding, type Intake } from "./intake.ts";
import { ANSWER_HEADERS, sendProblem } from "./problem.ts";
import { answerUnparsable, findAmbiguity } from "./unparsable.ts";
import { compileValidator } from "./validation.ts";
import { watchAnswer } from "./watch-answer.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Undefined: open to everybody. */
    scope?: Scope;
    /** Only for keys that are bound to no tenant. */
    unbound?: boolean;
  }
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

export interface HttpServer {
  readonly app: FastifyInstance;
  listen(at: { host: string; port: number; fd: number | undefined }): Promise<string>;
  /** Takes no new connections and lets open requests finish, but waits no longer than this. */
  close(deadlineMs: number): Promise<void>;
}

export interface HttpServerOptions {
  intake: Intake;
  authenticate: Authenticate;
  /** What a request changes is told as done by its key. */
  authors: Pick<Authors, "run">;
  clientAddress: (request: IncomingMessage) => string;
  dashboard: Pick<Dashboard, "send">;
  tls: { certFile: string; keyFile: string } | undefined;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  connections: ConnectionGate;
  onServerError: NoteServerError;
  /** Where somebody watches. */
  onAnswered?: Activity["request"] | undefined;
}

/** Answers are described in the reference (`openapi/`), and never by a schema that Fastify would write them by. */
function refuseCompiler(): never {
  throw new Error("a route has a schema that nothing compiles; describe answers in its .docs.ts file");
}

/** Ids of events have up to 128 characters, and each may be written as three. */
const MAX_PARAMETER_LENGTH = 512;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { intake } = options;
  let node: Server | undefined;

  const app = fastify({
    serverFactory(handler) {
      node = createNodeServer(options, (request, response) => {
        options.connections.noteRequest(request.socket);
        if (options.onAnswered !== undefined) watchAnswer(request, response, options.onAnswered);
        const ambiguity = findAmbiguity(request);
        if (ambiguity !== undefined) return sendProblem(response, ambiguity, { close: true });
        if (intake.handle(request, response)) return;
        if (request.headers.expect !== undefined) response.writeContinue();
        handler(request, response);
      });
      return node;
    },
    bodyLimit: 1024 * 1024,
    // Given both, Fastify loads no compilers of its own, which are more code than all of the gateway.
    schemaController: { compilersFactory: { buildValidator: refuseCompiler, buildSerializer: refuseCompiler } },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: refuse,
    // Fastify's own would answer beside it.
    clientErrorHandler: answerUnparsable,
  });
  const allowedMethods = watchMethods(app, HOT_ROUTES);
  app.addHook("onRoute", (route) => nameAuthor(route, options));
  app.setValidatorCompiler(compileValidator);
  app.decorateRequest("caller", undefined);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(ANSWER_HEADERS);
    const { scope, unbound } = request.routeOptions.config;
    refuseEncoding(request.raw);
    if (scope !== undefined) request.caller = await authorize(request, scope);
    if (unbound === true) refuseBound(request.caller);
  });
  app.setErrorHandler(refuse);
  app.setNotFoundHandler(async (request, reply) => {
    if (await options.dashboard.send(request, reply)) return reply;
    const { method, url } = request;
    const allow = allowedMethods(url.split("?", 1)[0] ?? url);
    const error =
      allow.length === 0
        ? new PosthornError("not_found", `There is nothing at ${method} ${url}.`)
        : new PosthornError("method_not_allowed", `${method} is not taken here.`, { details: { allow } });
    refuse(error, request, reply);
    return reply;
  });

  function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const known = fromFastify(error);
    const code = known instanceof PosthornError ? known.code : "internal_error";
    if (ERRORS[code].status >= 500) {
      const { method, url } = request;
      options.onServerError(known, { method, path: url.split("?", 1)[0] ?? url });
    }
    reply.hijack();
    sendProblem(reply.raw, known, { close: !request.raw.complete });
  }

  async function authorize(request: FastifyRequest, scope: Scope): Promise<Caller> {
    const caller = await options.authenticate(request.raw);
    if (caller === undefined) throw new PosthornError("unauthorized", "Send a valid key as Authorization: Bearer KEY.");
    if (!allows(caller, scope)) throw new PosthornError("forbidden", `This key lacks the scope ${scope}.`);
    if (caller.isPartner === true) refusePartner(request);
    return caller;
  }

  return {
    app,
    async listen({ host, port, fd }) {
      await app.ready();
      const server = node as Server;
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        const listening = () => {
          server.off("error", reject);
          resolve();
        };
        if (fd === undefined) server.listen({ host, port, backlog: 1024 }, listening);
        else server.listen({ fd }, listening);
      }).catch((error: NodeJS.ErrnoException) => {
        throw explainListenError(error, host, port);
      });
      return describeAddress(server, options.tls !== undefined);
    },
    async close(deadlineMs) {
      const server = node as Server;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const cut = setTimeout(() => server.closeAllConnections(), deadlineMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
      await app.close();
    },
  };
}

/** Around the handler of every route that may change something or show a secret; lists that programs poll do without. */
function nameAuthor(route: RouteOptions, { authors, clientAddress }: HttpServerOptions): void {
  const { handler, method } = route;
  const isRead = [method].flat().every((one) => one === "GET" || one === "HEAD");
  if (isRead && route.config?.scope !== "admin") return;
  route.handler = function handleAsAuthor(request, reply) {
    const author: Author = {
      actor: actorOf(request.caller),
      via: `${request.method} ${request.routeOptions.url ?? ""}`,
      address: clientAddress(request.raw),
    };
    return authors.run(author, () => handler.call(this, request, reply));
  };
}

/** A partner is known by the key that made the link. */
function actorOf(caller: Caller | undefined): string {
  if (caller === undefined) return "anonymous";
  return `${caller.isPartner === true ? "portal" : "key"}:${caller.keyId}`;
}

function refuseBound(caller: Caller | undefined): void {
  if (caller?.tenantId === undefined) return;
  throw new PosthornError("forbidden", "This concerns the whole gateway. Use a key that is bound to no tenant.");
}

function createNodeServer(
  options: HttpServerOptions,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Server {
  const settings = {
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    // Often, so that senders who came together and all run out of time are not all thrown out in one turn.
    connectionsCheckingInterval: 100,
    keepAliveTimeout: 65_000,
    noDelay: true,
  };
  const { tls } = options;
  const server =
    tls === undefined
      ? createServer(settings, handler)
      : createTlsServer({ ...settings, cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) }, handler);
  options.connections.watch(server);
  // A client that asks first gets its answer, or 413, before it sends the body.
  server.on("checkContinue", handler);
  return server;
}

function fromFastify(error: unknown): unknown {
  if (error instanceof PosthornError) return error;
  const { code, message } = error as { code?: string; message: string };
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new PosthornError("unsupported_encoding", "Send the body as application/json.");
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new PosthornError("too_large", "The body is larger than 1 MiB.");
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new PosthornError("unreadable_body", message);
    case "FST_ERR_BAD_URL":
    case "FST_ERR_MAX_PARAM_LENGTH":
      return new PosthornError("bad_request", `The URL cannot be understood (${message}).`);
    default:
      return error instanceof SyntaxError ? new PosthornError("unreadable_body", message) : error;
  }
}

function explainListenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const place = `${host}:${port}`;
  switch (error.code) {
    case "EADDRINUSE":
      return new PosthornError(
        "port_in_use",
        `${place} is in use. Stop what listens there, or choose another with POSTHORN_PORT.`,
      );
    case "EACCES":
      return new PosthornError(
        "config_invalid",
        `Listening on ${place} is not permitted. Choose a port of 1024 or above.`,
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new PosthornError(
        "config_invalid",
        `${host} is no address of this machine. Set POSTHORN_HOST to one that is.`,
      );
    default:
      return error;
  }
}

function describeAddress(server: Server, isTls: boolean): string {
  const address = server.address();
  if (address === null || typeof address === "string") return String(address);
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `${isTls ? "https" : "http"}://${host}:${address.port}`;
}

interface Route {
  url: string;
  method: string | string[];
}

/** Which methods a path has: the difference between "not found" and "not this way". Before any route is added. */
function watchMethods(app: FastifyInstance, others: readonly Route[]): (path: string) => readonly string[] {
  const known: { path: RegExp; methods: readonly string[] }[] = [];
  const add = ({ url, method }: Route) => {
    known.push({ path: new RegExp(`^${url.replace(/:[a-z_]+/g, "[^/]+")}/?$`), methods: [method].flat() });
  };
  others.forEach(add);
  app.addHook("onRoute", add);
  return (path) => [...new Set(known.flatMap((route) => (route.path.test(path) ? route.methods : [])))].sort();
}
