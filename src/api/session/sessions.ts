import type { IncomingMessage } from "node:http";
import { isLoopbackHost, parseUrl } from "../../model/addresses.ts";
import type { Clock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { Caller } from "../../resources/keys.ts";
import type { PassRecords } from "../../resources/pass-records.ts";
import type { Passes } from "./passes.ts";

export interface Session {
  id: string;
  caller: Caller;
  expiresAt: number;
}

/** The lifetime of an unused session; while the page is open, it is renewed. */
const SESSION_MS = 12 * 3_600_000;

export type Sessions = ReturnType<typeof createSessions>;

/** Sessions of the dashboard: a cookie stands for the user's key. */
export function createSessions(parts: {
  passes: Passes;
  records: Pick<PassRecords, "endSession">;
  publicUrl: (request: IncomingMessage) => string;
  clock: Pick<Clock, "wall">;
}) {
  const { passes, records, publicUrl, clock } = parts;
  const cookies = createCookies("posthorn", "Strict", publicUrl);
  return {
    /** Throws `other_origin` when a request that changes something comes from another site. */
    find(request: IncomingMessage): Session | undefined {
      const pass = cookies.read(request);
      const session = pass === undefined ? undefined : passes.find(pass);
      if (session !== undefined) requireOwnOrigin(request, publicUrl);
      return session;
    },
    /** Rejects a sign-in from another site, which could sign in a visitor as somebody else. */
    rejectOtherOrigin: (request: IncomingMessage) => rejectOtherOrigin(request, publicUrl),
    /** Rejects a sign-in whose cookie could be read on the network, before a link is used up for it. */
    rejectInsecure: cookies.rejectInsecure,
    /** Starts a session for the caller, or goes on with the one that has this id. */
    open(request: IncomingMessage, caller: Caller, id?: string) {
      const now = clock.wall();
      const expiresAt = Math.min(now + SESSION_MS, lastEndOf(caller));
      const made = passes.make(caller, { id, expiresAt });
      if (made === undefined) throw new PosthornError("unauthorized", "The key was revoked.");
      return { cookie: cookies.write(request, made.pass, Math.floor((expiresAt - now) / 1000)), expiresAt };
    },
    /** Ends the session of the request, if it has one: its cookie is worth nothing from then on. */
    async close(request: IncomingMessage) {
      const pass = cookies.read(request);
      const ended = pass === undefined ? undefined : passes.find(pass);
      if (ended !== undefined) await records.endSession({ id: ended.id, keyId: ended.caller.keyId });
      return { ended, cookie: cookies.clear(request) };
    },
    /** Whether the session is so old that the browser should get a new cookie. */
    isOld: ({ expiresAt, caller }: Session) =>
      expiresAt - clock.wall() < SESSION_MS / 2 && expiresAt < lastEndOf(caller),
  };
}

/** No session of the caller lasts longer, however much it is used. */
function lastEndOf({ expiresAt = Infinity, user }: Caller): number {
  return Math.min(expiresAt, user?.until ?? Infinity);
}

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Browsers add the cookie to requests of any page, so a request that changes something must come from our own pages.
 * A page cannot set `Sec-Fetch-Site`; browsers that do not send it (over plain http) send `Origin`. A request with
 * neither does not come from a browser and needs no cookie.
 */
function requireOwnOrigin(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): void {
  if (SAFE_METHODS.has(request.method ?? "")) return;
  const { origin } = request.headers;
  if (isFromOwnPage(request, publicUrl)) return;
  throw new PosthornError(
    "other_origin",
    `This request comes from ${origin ?? "an unknown origin"}, not from the gateway's own page. Programs send a key as ` +
      "Authorization: Bearer KEY.",
  );
}

/** For requests with a key in the body: programs send no origin, and pages of other sites send another one. */
function rejectOtherOrigin(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  if (origin !== undefined || site !== undefined) requireOwnOrigin(request, publicUrl);
}

function isFromOwnPage(request: IncomingMessage, publicUrl: (request: IncomingMessage) => string): boolean {
  const { origin, host, "sec-fetch-site": site } = request.headers;
  return site === undefined ? isOwn(origin, [host, hostOf(publicUrl(request))]) : site === "same-origin";
}

function isOwn(origin: string | undefined, hosts: readonly (string | undefined)[]): boolean {
  const host = origin === undefined ? undefined : hostOf(origin);
  return host !== undefined && hosts.includes(host);
}

function hostOf(url: string): string | undefined {
  return parseUrl(url)?.host;
}

/** Browsers accept names with this prefix over https only, for this host and all its paths. */
const SECURE_PREFIX = "__Host-";

/** A cookie for the gateway alone; its name and attributes depend on how the browser reaches the gateway. */
export function createCookies(
  bareName: string,
  /** `Lax`: also sent when a link or a redirect on another site leads here. */
  sameSite: "Strict" | "Lax",
  publicUrl: (request: IncomingMessage) => string,
) {
  const plain = `Path=/; HttpOnly; SameSite=${sameSite}`;
  const secure = { name: SECURE_PREFIX + bareName, attributes: `${plain}; Secure` };

  /** Undefined for plain http from another machine. */
  function formOf(request: IncomingMessage): { name: string; attributes: string } | undefined {
    const url = parseUrl(publicUrl(request));
    if (url?.protocol === "https:") return secure;
    if (url === undefined || !isLoopbackHost(url.hostname)) return undefined;
    // All ports of a host share their cookies, and there may be two gateways on this machine.
    return { name: `${bareName}-${request.socket.localPort ?? 0}`, attributes: plain };
  }

  function requireForm(request: IncomingMessage): { name: string; attributes: string } {
    const form = formOf(request);
    if (form !== undefined) return form;
    throw new PosthornError(
      "insecure_sign_in",
      "Signing in over plain http works only on the gateway's own machine. Use https and set POSTHORN_PUBLIC_URL, or " +
        "reach it through a tunnel such as `ssh -L 8080:127.0.0.1:8080 HOST`.",
    );
  }

  return {
    /** Throws `insecure_sign_in` if a cookie could be read on the network. */
    rejectInsecure: (request: IncomingMessage): void => void requireForm(request),
    read(request: IncomingMessage): string | undefined {
      const { cookie } = request.headers;
      if (cookie === undefined) return undefined;
      const name = formOf(request)?.name;
      if (name === undefined) return undefined;
      const found = cookie.split(";").find((one) => one.trimStart().startsWith(`${name}=`));
      return found?.slice(found.indexOf("=") + 1).trim();
    },
    /** The value of `Set-Cookie`. Throws as `rejectInsecure` does. */
    write(request: IncomingMessage, value: string, maxAgeS: number): string {
      const form = requireForm(request);
      return `${form.name}=${value}; ${form.attributes}; Max-Age=${maxAgeS}`;
    },
    clear(request: IncomingMessage): string {
      const { name, attributes } = formOf(request) ?? secure;
      return `${name}=; ${attributes}; Max-Age=0`;
    },
  };
}
