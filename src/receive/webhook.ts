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

/** One flow for all kinds: a generic source is of a kind that leaves everything out. */
export interface WebhookReceiver {
  /** The source of a path, if it takes webhooks by this method now; else the reason why not is thrown. */
  open(name: string, method: string, path: string): Source;
  /** Throws the reason to refuse a request before its body is read. */
  admit(head: RequestHead): void;
  /** Checks, identifies and records a request. `done` is called once; what it reports as stored is on disk. */
  receive(request: WebhookRequest, done: (result: WebhookResult) => void): void;
  /** Takes in again what was refused or ignored, without asking who it is from. */
  replay(request: WebhookRequest, done: (result: KindResult) => void): void;
  /** Keeps a request that made no event, with the reason. */
  log: WebhookLog["rejected"];
}

export interface WebhookReceiverOptions {
  findSource: (name: string) => Source | undefined;
  kinds: ReadonlyMap<string, SourceKind>;
  takeIn: TakeIn;
  log: WebhookLog;
}

export function createWebhookReceiver({ findSource, kinds, takeIn, log }: WebhookReceiverOptions): WebhookReceiver {
  /** The answer to a handshake. Else it is known who sends: whoever cannot show that is refused. */
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
      throw new PosthornError("unknown_source", `The source "${name}" takes messages from a queue, not webhooks.`);
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

/** It was declared by a gateway that knew more kinds. */
function unknownKind({ name, kind }: Source): PosthornError {
  return new PosthornError("unavailable", `The source "${name}" is of the kind ${kind}, which is not known here.`, {
    retryAfterS: 300,
  });
}
