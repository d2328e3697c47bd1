import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from "fastify";
import { HOT_ROUTES, watchAnswer, type Authenticate, type Intake } from "../intake/hot-routes.ts";
import { ANSWER_HEADERS, sendProblem } from "../intake/problem.ts";
import { checkEncoding, findAmbiguity } from "../intake/request.ts";
import { isLoopbackHost, parseUrl } from "../model/addresses.ts";
import { ERRORS, PosthornError } from "../model/errors.ts";
import type { Scope } from "../model/scopes.ts";
import type { Author, Authors } from "../resources/authors.ts";
import { actorOf, allows, type Caller } from "../resources/keys.ts";
import type { Activity } from "../telemetry/activity.ts";
import type { NoteServerError } from "../telemetry/server-errors.ts";
import type { ConnectionGate } from "./connection-gate.ts";
import type { Dashboard } from "./dashboard/dashboard.ts";
import { answerUnparsable } from "./unparsable.ts";
import { compileValidator } from "./validation.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Undefined: the route is open to everybody. */
    scope?: Scope;
    /** Only for keys that are not bound to a tenant. */
    unbound?: boolean;
    /** The key may also come as one of Azure Functions: in the header `x-functions-key`, or as `?code=`. */
    functionKey?: boolean;
  }
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

export interface HttpServer {
  readonly app: FastifyInstance;
  listen(at: { host: string; port: number; fd: number | undefined }): Promise<string>;
  /** Accepts no new connections and waits for open requests, but no longer than this. */
  close(deadlineMs: number): Promise<void>;
}

export interface HttpServerOptions {
  intake: Intake;
  authenticate: Authenticate;
  /** Records the request's key as the author of its changes. */
  authors: Pick<Authors, "run">;
  clientAddress: (request: IncomingMessage) => string;
  dashboard: Pick<Dashboard, "send">;
  tls: { certFile: string; keyFile: string } | undefined;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  connections: ConnectionGate;
  onServerError: NoteServerError;
  /** Set when somebody watches requests. */
  onAnswered?: Activity["request"] | undefined;
}

/** Answers are described in the reference (`openapi/`) only: Fastify must not serialize by a schema. */
function refuseCompiler(): never {
  throw new Error("a route has a schema that nothing compiles; describe answers in its `docs`");
}

/** Browsers that have once come by https do not come by plain http for half a year. */
const HSTS = ["strict-transport-security", "max-age=15552000"] as const;

/** For all ports of one's own machine, other programs included, the header would mean https too. */
function isLoopback({ headers }: IncomingMessage): boolean {
  return isLoopbackHost(parseUrl(`https://${headers.host ?? ""}`)?.hostname ?? "localhost");
}

/** Event ids have up to 128 characters, and each may be percent-encoded as three. */
const MAX_PARAMETER_LENGTH = 512;

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { intake } = options;
  let node: Server | undefined;

  const app = fastify({
    serverFactory(handler) {
      node = createNodeServer(options, (request, response) => {
        options.connections.noteRequest(request.socket);
        if (options.tls !== undefined && !isLoopback(request)) response.setHeader(...HSTS);
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
    // With both set, Fastify does not load its own compilers, which are more code than the whole gateway.
    schemaController: { compilersFactory: { buildValidator: refuseCompiler, buildSerializer: refuseCompiler } },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: refuse,
    // Fastify's own handler would answer as well.
    clientErrorHandler: answerUnparsable,
  });
  const allowedMethods = watchMethods(app, HOT_ROUTES);
  app.addHook("onRoute", (route) => nameAuthor(route, options));
  app.setValidatorCompiler(compileValidator);
  app.decorateRequest("caller", undefined);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(ANSWER_HEADERS);
    const { scope, unbound, functionKey } = request.routeOptions.config;
    const key = functionKey === true ? takeFunctionKey(request) : undefined;
    checkEncoding(request.raw.headers);
    if (scope !== undefined) request.caller = await authorize(request, scope, key);
    if (unbound === true) refuseBound(request.caller);
  });
  app.setErrorHandler(refuse);
  app.setNotFoundHandler(async (request, reply) => {
    if (await options.dashboard.send(request, reply)) return reply;
    refuse(noRoute(request), request, reply);
    return reply;
  });

  function noRoute({ method, url }: FastifyRequest): PosthornError {
    const allow = allowedMethods(url.split("?", 1)[0] ?? url);
    return allow.length === 0
      ? new PosthornError("not_found", `There is nothing at ${method} ${url}.`)
      : new PosthornError("method_not_allowed", `${method} is not allowed here.`, { details: { allow } });
  }

  function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    // No route takes QUERY; Fastify asks it for a content type before it looks for one.
    const known = request.method === "QUERY" ? noRoute(request) : fromFastify(error);
    const code = known instanceof PosthornError ? known.code : "internal_error";
    if (ERRORS[code].status >= 500) {
      const { method, url } = request;
      options.onServerError(known, { method, path: url.split("?", 1)[0] ?? url });
    }
    reply.hijack();
    sendProblem(reply.raw, known, { close: !request.raw.complete });
  }

  async function authorize(request: FastifyRequest, scope: Scope, key: string | undefined): Promise<Caller> {
    const caller = await options.authenticate(request.raw, key);
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

/** Wraps the handlers of routes that change something or show a secret; lists that programs poll are left alone. */
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

/** A key in the query is removed from it: it must not get into a log, nor into an error about an unknown field. */
function takeFunctionKey(request: FastifyRequest): string | undefined {
  const { code, ...query } = request.query as Record<string, unknown>;
  if (code !== undefined) {
    request.query = query;
    request.raw.url = request.url.split("?", 1)[0] ?? "/";
  }
  const key = request.headers["x-functions-key"] ?? code;
  return typeof key === "string" ? key : undefined;
}

/** The parts of the API that a portal link gives access to: the partner's tenant, and the catalogue. */
const AREAS = [
  "session",
  "events",
  "stream",
  "subscriptions",
  "deliveries",
  "dead-letters",
  "replays",
  "event-types",
  "filters",
  "templates",
  "stats",
];
const PARTNER_ROUTE = new RegExp(`^/api/v1/(?:${AREAS.join("|")})(?:/|$)`);

/** What an event says is the operator's word: partners get it again, and neither write nor erase it. */
const OPERATORS_ONLY: ReadonlySet<string> = new Set(["POST /api/v1/events", "DELETE /api/v1/events/:id/body"]);

function refusePartner({ method, routeOptions }: FastifyRequest): void {
  const { url = "" } = routeOptions;
  if (PARTNER_ROUTE.test(url) && !OPERATORS_ONLY.has(`${method} ${url}`)) return;
  throw new PosthornError("forbidden", "A portal link gives no access to this route. Use a key.");
}

function refuseBound(caller: Caller | undefined): void {
  if (caller?.tenantId === undefined) return;
  throw new PosthornError("forbidden", "This concerns the whole gateway. Use a key that is not bound to a tenant.");
}

function createNodeServer(
  options: HttpServerOptions,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Server {
  const settings = {
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    // A short interval, so that senders that time out together are not all disconnected in one turn.
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
  // A client that sends `Expect: 100-continue` gets its answer, or 413, before it sends the body.
  server.on("checkContinue", handler);
  return server;
}

function fromFastify(error: unknown): unknown {
  if (error instanceof PosthornError) return error;
  const { code, message, statusCode = 500 } = error as { code?: string; message: string; statusCode?: number };
  switch (code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new PosthornError("unsupported_content_type", "Send the body as application/json.");
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new PosthornError("too_large", "The body is larger than 1 MiB.");
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new PosthornError("unreadable_body", message);
    case "FST_ERR_BAD_URL":
    case "FST_ERR_MAX_PARAM_LENGTH":
      return new PosthornError("bad_request", `The URL is invalid (${message}).`);
    default:
      if (error instanceof SyntaxError) return new PosthornError("unreadable_body", message);
      // The sender's fault, whatever Fastify will name it.
      if (code?.startsWith("FST_ERR_") === true && statusCode < 500) return new PosthornError("bad_request", message);
      return error;
  }
}

function explainListenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const place = `${host}:${port}`;
  switch (error.code) {
    case "EADDRINUSE":
      return new PosthornError(
        "port_in_use",
        `${place} is already in use. Stop the program that listens there, or choose another port with POSTHORN_PORT.`,
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
        `${host} is not an address of this machine. Set POSTHORN_HOST to one that is.`,
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

/** Collects the methods of each path, to tell 404 from 405. Must be called before any route is added. */
function watchMethods(app: FastifyInstance, others: readonly Route[]): (path: string) => readonly string[] {
  const known: { path: RegExp; methods: readonly string[] }[] = [];
  const add = ({ url, method }: Route) => {
    known.push({ path: new RegExp(`^${url.replace(/:[a-z_]+/g, "[^/]+")}/?$`), methods: [method].flat() });
  };
  others.forEach(add);
  app.addHook("onRoute", add);
  return (path) => [...new Set(known.flatMap((route) => (route.path.test(path) ? route.methods : [])))].sort();
}
