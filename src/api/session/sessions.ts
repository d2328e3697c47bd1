import type { IncomingMessage } from "node:http";
import type { Clock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { Caller } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import { createCookies } from "./cookies.ts";
import type { Passes } from "./passes.ts";
import { refuseOtherOrigin, requireOwnOrigin } from "./same-origin.ts";

/** Sessions of the dashboard: a cookie stands for the user's key. */
export interface Sessions {
  /** Throws `other_origin` when a request that changes something comes from another site. */
  find(request: IncomingMessage): Session | undefined;
  /** Rejects a sign-in from another site, which could sign in a visitor as somebody else. */
  refuseOtherOrigin(request: IncomingMessage): void;
  /** Rejects a sign-in whose cookie could be read on the network, before a link is used up for it. */
  refuseInsecure(request: IncomingMessage): void;
  /** Starts a session for the caller, or goes on with the one that has this id. */
  open(request: IncomingMessage, caller: Caller, id?: string): { cookie: string; expiresAt: number };
  /** Ends the session of the request, if it has one: its cookie is worth nothing from then on. */
  close(request: IncomingMessage): Promise<{ ended: Session | undefined; cookie: string }>;
  /** Whether the session is so old that the browser should get a new cookie. */
  isOld(session: Session): boolean;
}

export interface Session {
  id: string;
  caller: Caller;
  expiresAt: number;
}

export interface SessionsOptions {
  passes: Passes;
  records: Pick<PassRecords, "endSession">;
  publicUrl: (request: IncomingMessage) => string;
  clock: Pick<Clock, "wall">;
}

/** The lifetime of an unused session; while the page is open, it is renewed. */
const SESSION_MS = 12 * 3_600_000;

export function createSessions({ passes, records, publicUrl, clock }: SessionsOptions): Sessions {
  const cookies = createCookies({ name: "posthorn", sameSite: "Strict", publicUrl });
  return {
    find(request) {
      const pass = cookies.read(request);
      const session = pass === undefined ? undefined : passes.find(pass);
      if (session !== undefined) requireOwnOrigin(request, publicUrl);
      return session;
    },
    refuseOtherOrigin: (request) => refuseOtherOrigin(request, publicUrl),
    refuseInsecure: cookies.refuseInsecure,
    open(request, caller, id) {
      const now = clock.wall();
      const expiresAt = Math.min(now + SESSION_MS, lastEndOf(caller));
      const made = passes.make(caller, { id, expiresAt });
      if (made === undefined) throw new PosthornError("unauthorized", "The key was revoked.");
      return { cookie: cookies.write(request, made.pass, Math.floor((expiresAt - now) / 1000)), expiresAt };
    },
    async close(request) {
      const pass = cookies.read(request);
      const ended = pass === undefined ? undefined : passes.find(pass);
      if (ended !== undefined) await records.endSession({ id: ended.id, keyId: ended.caller.keyId });
      return { ended, cookie: cookies.clear(request) };
    },
    isOld: ({ expiresAt, caller }) => expiresAt - clock.wall() < SESSION_MS / 2 && expiresAt < lastEndOf(caller),
  };
}

/** No session of the caller lasts longer, however much it is used. */
function lastEndOf({ expiresAt = Infinity, user }: Caller): number {
  return Math.min(expiresAt, user?.until ?? Infinity);
}
