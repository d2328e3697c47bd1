import { VERSION } from "../config/version.ts";
import { CommandFailure, EXIT_FAILED } from "./failure.ts";

/** Explains what went wrong between a command and the gateway, with the next step. */

export interface AskedGateway {
  readonly url: string;
  /** Whether a key was sent. */
  readonly hasKey: boolean;
  /** The gateway's version, when it is known. */
  findVersion(): Promise<string | undefined>;
}

export function explainUnreachable(url: string, error: unknown): CommandFailure {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const reason = name === "TimeoutError" ? "no answer in time" : (cause?.code ?? cause?.message ?? message);
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

export async function explainAnswer(gateway: AskedGateway, status: number, text: string): Promise<CommandFailure> {
  const problem = readProblem(text);
  if (problem === undefined) return explainNoGateway(gateway.url, status);
  const { code, detail, field } = problem;
  if (code === "unauthorized") return explainKey(gateway);
  if (isUnknownRoute(problem)) return explainOld(gateway, detail);
  const message = [`${detail} (${code})`, HINTS[code]].filter((part) => part !== undefined).join(" ");
  return new CommandFailure(message, EXIT_FAILED, field);
}

interface Problem {
  code: string;
  detail: string;
  field: string | undefined;
}

function readProblem(text: string): Problem | undefined {
  try {
    const { code, detail, field } = JSON.parse(text) as Partial<Record<keyof Problem, unknown>>;
    if (typeof code !== "string" || typeof detail !== "string") return undefined;
    return { code, detail, field: typeof field === "string" ? field : undefined };
  } catch {
    return undefined;
  }
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
function isUnknownRoute({ code, detail }: Problem): boolean {
  return code === "method_not_allowed" || (code === "not_found" && detail.startsWith("There is nothing at "));
}

async function explainOld({ url, findVersion }: AskedGateway, detail: string): Promise<CommandFailure> {
  const version = await findVersion();
  const is =
    version === undefined ? "another version" : version === VERSION ? "the same version" : `version ${version}`;
  return new CommandFailure(
    `The gateway at ${url} does not know what this command asks for: ${detail} It is ${is}, the command line is ` +
      `${VERSION}. Upgrade the gateway, or use the command line of its version.`,
  );
}
