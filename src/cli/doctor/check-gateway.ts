import { createServer } from "node:net";
import type { Config } from "../../config/settings-tree.ts";
import type { Status } from "../../../sdk/src/generated/shapes.ts";
import { VERSION } from "../../config/version.ts";
import type { ApiClient } from "../api-client.ts";
import { describeFailure } from "../failure.ts";
import { countOf } from "../output.ts";
import type { Report } from "./findings.ts";

/** The public facts of a gateway, which need no key. */
export interface Answered {
  readiness: { version: string; status?: string; store?: { sync_mode?: string } };
  aheadMs: number | undefined;
}

export async function askGateway(client: ApiClient): Promise<{ answered?: Answered; failure?: string }> {
  try {
    const answer = await client.get("/readyz", {}, [503]);
    const readiness = answer.read() as Answered["readiness"];
    if (readiness.store === undefined) return { failure: `The server at ${client.url} is not a Posthorn gateway.` };
    const aheadMs = answer.date === undefined ? undefined : Date.parse(answer.date) - Date.now();
    return { answered: { readiness, aheadMs } };
  } catch (error) {
    return { failure: describeFailure(error) };
  }
}

export function checkPort(
  { host, port }: Config,
  { isRunning, answered }: { isRunning: boolean | undefined; answered: Answered | undefined },
  occupation: Occupation,
  report: Report,
): void {
  const place = `${host}:${port}`;
  if (port === 0) return report("ok", "the gateway takes any free port (port 0)");
  if (occupation.state === "free") {
    if (isRunning !== true) return report("ok", `${place} is free`);
    return report("warning", `${place} is free, but a gateway runs on this data dir: it was started with another port`);
  }
  if (occupation.state === "impossible") {
    return report("problem", `${place} cannot be listened on (${occupation.reason}); choose another host or port`);
  }
  if (answered === undefined && isRunning === true) {
    return report("warning", `${place} is used, but the gateway of this data dir does not answer there`);
  }
  if (answered === undefined) {
    const advice = "Stop it, or choose another port with POSTHORN_PORT";
    return report("problem", `${place} is used by something that is not a Posthorn gateway. ${advice}`);
  }
  if (isRunning === false) return report("warning", `${place} is used by a gateway with another data dir`);
  report("ok", `${place} is used by the gateway`);
}

export type Occupation = { state: "free" } | { state: "used" } | { state: "impossible"; reason: string };

/** Listens for a moment without accepting connections. */
export function findOccupation({ host, port }: Pick<Config, "host" | "port">): Promise<Occupation> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code = "error" }: NodeJS.ErrnoException) => {
      resolve(code === "EADDRINUSE" ? { state: "used" } : { state: "impossible", reason: code });
    });
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve({ state: "free" })));
  });
}

export function checkReadiness(url: string, { readiness }: Answered, report: Report): void {
  const { status, store } = readiness;
  const sync = store?.sync_mode;
  if (sync !== "FULL")
    report("problem", `${url} syncs with ${sync}: acknowledged events can be lost in a power failure`);
  if (status === "ok") report("ok", `${url} is ready; sync ${sync}`);
  else report("warning", `${url} is ${status}; sync ${sync}. \`posthorn status\` says why`);
}

export function checkVersion({ readiness }: Answered, report: Report): void {
  const { version } = readiness;
  if (version === VERSION) return report("ok", `the gateway and this command have the same version, ${VERSION}`);
  report("warning", `the gateway is ${version}, this command ${VERSION}. Restart the gateway after an upgrade`);
}

/** For a gateway elsewhere, whose files are not here, only its answers can be checked. */
export function checkStatus(status: Status, about: (check: string) => Report): void {
  const { targets, suspended, active_alerts: alerts, connections, retention } = status;
  const down = targets.filter(({ mode }) => mode === "QUEUE").map(({ name }) => name);
  if (down.length > 0) about("targets")("warning", `down: ${down.join(", ")}. \`posthorn targets\` says why`);
  if (suspended.length > 0) {
    const names = suspended.map(({ subscription }) => subscription).join(", ");
    about("subscriptions")("warning", `suspended: ${names}. \`posthorn subscriptions resume\` activates them again`);
  }
  if (alerts > 0) about("alerts")("warning", `${countOf(alerts, "is", "are")} active; see \`posthorn alerts\``);
  for (const { kind, name, state, reason } of connections) {
    if (state === "failed") about("brokers")("problem", `${kind} ${name}: ${reason}`);
    else about("brokers")("ok", `${kind} ${name} is ${state}`);
  }
  const { days, due_events: due, behind_s: behindS } = retention;
  const kept = days === null ? "events are kept for ever" : `events are kept for ${days} days`;
  const late = due === null ? "" : `; ${countOf(due, "event")} to be deleted, deletion is ${behindS} s behind`;
  about("retention")("ok", kept + late);
}
