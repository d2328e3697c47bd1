import { PosthornApiError, PosthornConnectionError } from "../../sdk/src/client/api-error.ts";
import { withQuery } from "../../sdk/src/client/path.ts";
import { createTransport } from "../../sdk/src/client/transport.ts";
import { VERSION } from "../config/version.ts";
import { CommandFailure, EXIT_FAILED } from "./failure.ts";

/** A list is sent as several values of the same name. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface RequestParts {
  query?: Query | undefined;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  json?: unknown;
  headers?: Record<string, string> | undefined;
  expected?: readonly number[] | undefined;
}

export type ApiClient = ReturnType<typeof createApiClient>;
export type ApiAnswer = Awaited<ReturnType<ApiClient["send"]>>;

const VERSION_TIMEOUT_MS = 3000;
const RECONNECTING = { minDelayMs: 2000, maxDelayMs: 30_000 };

/** Talks only to our own gateway. The operator gave its address, so the address guard is not used here. */
export function createApiClient(url: string, key: string | undefined) {
  const headers = key === undefined ? undefined : { authorization: `Bearer ${key}` };
  const transport = createTransport({ base: url, headers, retry: RECONNECTING });
  const explain = (error: unknown) => explainError({ url, hasKey: key !== undefined }, error);

  /** Throws the gateway's answer as a failure, unless it is a success or its status is in `expected`. */
  async function send(method: string, path: string, parts: RequestParts = {}) {
    const { query, json, expected } = parts;
    const body = json === undefined ? parts.body : JSON.stringify(json);
    const headers = { ...(json !== undefined && { "content-type": "application/json" }), ...parts.headers };
    const request = { method, path: withQuery(path, query), body, headers, expected, isRepeatable: false };
    const answer = await transport.send(request).catch(async (error: unknown) => {
      throw await explain(error);
    });
    const { status, text, headers: answered } = answer;
    return {
      status,
      /** The unparsed answer: only the text keeps numbers beyond 2^53 exact. */
      text,
      date: answered.get("date") ?? undefined,
      etag: answered.get("etag") ?? undefined,
      read(): unknown {
        try {
          return JSON.parse(text) as unknown;
        } catch {
          throw explainNoGateway(url);
        }
      },
    };
  }

  const get = (path: string, query?: Query, expected?: readonly number[]) => send("GET", path, { query, expected });
  return { url, transport, explain, send, get };
}

export async function findVersion(url: string): Promise<string | undefined> {
  try {
    const transport = createTransport({ base: url, timeoutMs: VERSION_TIMEOUT_MS });
    const request = { method: "GET", path: "/readyz", expected: [503], isRepeatable: true };
    const { version } = JSON.parse((await transport.send(request)).text) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

interface AskedGateway {
  readonly url: string;
  readonly hasKey: boolean;
}

/** Explains what went wrong between a command and the gateway, with the next step. */
async function explainError(gateway: AskedGateway, error: unknown): Promise<unknown> {
  if (error instanceof PosthornApiError) return explainAnswer(gateway, error);
  return error instanceof PosthornConnectionError ? explainUnreachable(gateway.url, error) : error;
}

function explainUnreachable(url: string, { code, cause: thrown }: PosthornConnectionError): CommandFailure {
  const { message, cause } = (thrown ?? {}) as { message?: string; cause?: { code?: string; message?: string } };
  const reason = code === "timeout" ? "no answer in time" : (cause?.code ?? cause?.message ?? message ?? "");
  const { host, port } = new URL(url);
  if (reason === "bad port") {
    return new CommandFailure(
      `The port ${port} belongs to another protocol, and HTTP clients refuse to use it. Start the gateway on another port.`,
    );
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|wrong version number/.test(reason)) {
    return new CommandFailure(
      `${host} does not use TLS: it speaks http. Use http://${host} instead of https://${host}.`,
    );
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER/.test(reason)) {
    return new CommandFailure(
      `The certificate of ${url} is not accepted (${reason}). Use the name that it was issued for; for a certificate ` +
        "authority of your own, name its file with NODE_EXTRA_CA_CERTS.",
    );
  }
  return new CommandFailure(
    `Cannot reach a gateway at ${url} (${reason}). Start one with \`posthorn start\`, or name it with --url or POSTHORN_URL.`,
  );
}

export function explainNoGateway(url: string, status?: number): CommandFailure {
  const answered = status === undefined ? "" : ` (status ${status})`;
  return new CommandFailure(
    `Another service answers at ${url}${answered}, not a Posthorn gateway. Check --url and POSTHORN_URL.`,
  );
}

const HINTS: Readonly<Record<string, string>> = {
  confirmation_required: "Here: add --confirm COUNT, or --confirm ID where an id is asked for.",
  forbidden: "Use a key that may do this; `posthorn keys` lists them with their scopes.",
  illegal_transition: "`posthorn deliveries show ID` shows its state.",
  precondition_failed: "Somebody else has changed it in the meantime: read it again, then repeat the change.",
};

const MAKE_KEY = "`posthorn keys create --local` creates one on the gateway's machine.";

async function explainAnswer(gateway: AskedGateway, error: PosthornApiError): Promise<CommandFailure> {
  const { status, code, detail, field } = error;
  if (code === "unexpected_answer" || detail === "") return explainNoGateway(gateway.url, status);
  if (code === "unauthorized") return explainKey(gateway);
  if (isUnknownRoute(error)) return explainOld(gateway, detail);
  const message = [`${detail} (${code})`, HINTS[code]].filter((part) => part !== undefined).join(" ");
  return new CommandFailure(message, EXIT_FAILED, field);
}

function explainKey({ url, hasKey }: AskedGateway): CommandFailure {
  return new CommandFailure(
    hasKey
      ? `The gateway at ${url} does not accept this key: it is wrong, revoked or expired (unauthorized). ` +
          `Check --key and POSTHORN_API_KEY; ${MAKE_KEY}`
      : `The gateway at ${url} asks for a key, and none was given (unauthorized). ` +
          `Give one with --key or POSTHORN_API_KEY; ${MAKE_KEY}`,
  );
}

/** The detail that every version gives for an unknown path or method. */
function isUnknownRoute({ code, detail }: PosthornApiError): boolean {
  return code === "method_not_allowed" || (code === "not_found" && detail.startsWith("There is nothing at "));
}

async function explainOld({ url }: AskedGateway, detail: string): Promise<CommandFailure> {
  const version = await findVersion(url);
  const is =
    version === undefined ? "another version" : version === VERSION ? "the same version" : `version ${version}`;
  return new CommandFailure(
    `The gateway at ${url} does not know what this command asks for: ${detail} It is ${is}, the command line is ` +
      `${VERSION}. Upgrade the gateway, or use the command line of its version.`,
  );
}
