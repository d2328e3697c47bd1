import { PosthornError } from "../domain/errors.ts";
import { findLoop, readHops } from "../domain/hops.ts";
import type { Source } from "../domain/source.ts";
import { admit, checkOpen, refuseMethod } from "./admit.ts";
import { answerAs, type KindResult, type WebhookResult } from "./kind-answer.ts";
import { after, conclude, type Soon } from "./soon.ts";
import type { KindAnswer, PushedSourceKind, SourceKind } from "./sources/source-kind.ts";
import type { TakeIn } from "./take-in.ts";
import type { WebhookLog } from "./webhook-log.ts";
import type { RequestHead, WebhookRequest } from "./webhook-request.ts";

/** One flow for all kinds: `generic` is the kind that leaves out all optional parts. */
export interface WebhookReceiver {
  /** Returns the source of a path if it accepts webhooks with this method now; otherwise throws the reason. */
  open(name: string, method: string, path: string): Source;
  /** Throws the reason to reject a request before its body is read. */
  admit(head: RequestHead): void;
  /** Checks, identifies and stores a request. `done` is called once; an event that it reports as stored is on disk. */
  receive(request: WebhookRequest, done: (result: WebhookResult) => void): void;
  /** Replays a rejected or ignored request without verifying its sender again. */
  replay(request: WebhookRequest, done: (result: KindResult) => void): void;
  /** Stores a request without an event, with the reason. */
  log: WebhookLog["rejected"];
}

export interface WebhookReceiverOptions {
  findSource: (name: string) => Source | undefined;
  kinds: ReadonlyMap<string, SourceKind>;
  takeIn: TakeIn;
  log: WebhookLog;
}

export function createWebhookReceiver({ findSource, kinds, takeIn, log }: WebhookReceiverOptions): WebhookReceiver {
  /** The answer to a handshake; undefined for other requests, whose sender is then verified. */
  function meet(request: WebhookRequest, kind: PushedSourceKind): Soon<KindAnswer | undefined> {
    const loop = findLoop(readHops(request.headers));
    if (loop !== undefined) throw loop;
    const { source, method } = request;
    const answer = kind.handshake?.(request, source.settings);
    if (answer !== undefined) return answer;
    refuseMethod(source, method);
    return after(kind.verify?.(request, source.settings), () => undefined);
  }

  return {
    open(name, method, path) {
      const source = checkOpen(name, findSource(name), method, path);
      if (kinds.get(source.kind)?.pull === undefined) return source;
      throw new PosthornError("unknown_source", `The source "${name}" receives messages from a queue, not webhooks.`);
    },
    admit(head) {
      const { gate } = head.source;
      if (gate !== undefined) admit(head.source, gate, head);
    },
    receive(request, done) {
      const kind = kinds.get(request.source.kind);
      if (kind === undefined || kind.pull !== undefined) return done(log.refuse(request, unknownKind(request.source)));
      conclude(
        () => meet(request, kind),
        (answer) => {
          if (answer !== undefined) return done({ kind: "answered", outcome: "handshake", answer });
          takeIn(request, kind, (result) => done(answerAs(kind, result)));
        },
        (error) => done(log.refuse(request, error)),
      );
    },
    replay(request, done) {
      const kind = kinds.get(request.source.kind);
      if (kind === undefined) return done(log.refuse(request, unknownKind(request.source)));
      takeIn(request, kind, done);
    },
    log: log.rejected,
  };
}

/** The source was declared by a gateway that knew more kinds. */
function unknownKind({ name, kind }: Source): PosthornError {
  return new PosthornError(
    "unavailable",
    `The source "${name}" is of the kind ${kind}, which this gateway does not know.`,
    {
      retryAfterS: 300,
    },
  );
}
