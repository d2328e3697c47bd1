import { connect, type ClientFlags } from "./connect.ts";
import { followStream, type StreamFrame } from "./event-stream.ts";
import { openInterruption } from "./interruption.ts";
import { note, print, printEscaped } from "./output.ts";
import { readTime } from "./read-value.ts";
import { findId, SUBSCRIPTION } from "./resources/find-by-name.ts";
import { formatFrame } from "./tail-line.ts";
import { findTerminal } from "./terminal.ts";

export interface TailFlags extends ClientFlags {
  frames?: string;
  type?: string;
  source?: string;
  tenant?: string;
  subscription?: string;
  status?: string;
  reason?: string;
  id?: string;
  orderingKey?: string;
  label?: string[];
  unmatched?: boolean;
  rule?: string;
  severity?: string;
  since?: string;
  body?: boolean;
  after?: string;
  follow: boolean;
}

/** Runs until a signal ends it or, without following, until everything was shown. */
export async function runTail(flags: TailFlags): Promise<void> {
  const client = await connect(flags);
  const subscription =
    flags.subscription === undefined ? undefined : await findId(client, SUBSCRIPTION, flags.subscription);
  const { signal, close } = openInterruption();
  const { hasColour } = findTerminal();
  const show = flags.json === true ? showJson : (frame: StreamFrame) => printEscaped(formatFrame(frame, hasColour));
  const frames = followStream(client, {
    query: {
      types: flags.frames,
      event_type: flags.type,
      source: flags.source,
      tenant_id: flags.tenant,
      subscription_id: subscription,
      status: flags.status,
      reason: flags.reason,
      id: flags.id,
      ordering_key: flags.orderingKey,
      label: flags.label,
      unmatched: flags.unmatched === true ? "true" : undefined,
      rule: flags.rule,
      severity: flags.severity,
      since: flags.since === undefined ? undefined : readTime(flags.since, "--since"),
      body: flags.body === true ? "true" : undefined,
      follow: flags.follow ? undefined : "false",
    },
    after: flags.after,
    signal,
    onConnected: (isFirst) => note(isFirst ? `following ${client.url}` : "connected again"),
    onLost: (reason) => note(`${reason} Trying again …`),
  });
  try {
    for await (const frame of frames) show(frame);
  } finally {
    close();
  }
  if (signal.aborted) note("the gateway keeps running without this command");
}

/** The unparsed data: parsing would change numbers beyond 2^53. */
function showJson({ name, id, data }: StreamFrame): void {
  print(`{"type":${JSON.stringify(name)},"id":${JSON.stringify(id ?? null)},"data":${data}}`);
}
