import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../model/clock.ts";
import { PosthornError } from "../../../model/errors.ts";
import type { SecretBox } from "../../../resources/secret-box.ts";
import { createCookies } from "../cookies.ts";

/** What the gateway must remember while a user is at the provider. */
export interface Login {
  state: string;
  nonce: string;
  codeVerifier: string;
  redirectUri: string;
  returnTo: string;
}

/**
 * Logins under way. Each is kept in a cookie of the browser that began it, encrypted with the master key, so that
 * nobody can fill the gateway's memory with them and nobody else can finish one.
 */
export interface Logins {
  /** Returns the cookie. */
  begin(request: IncomingMessage, login: Login): string;
  /** Uses the login up. Throws `sign_in_failed` when there is none, or when the state is of another one. */
  take(request: IncomingMessage, state: string | undefined): Login;
  /** Returns the cookie that removes the login. */
  end(request: IncomingMessage): string;
}

export interface LoginsOptions {
  secretBox: Pick<SecretBox, "seal" | "open">;
  publicUrl: (request: IncomingMessage) => string;
  clock: Pick<Clock, "wall">;
}

interface Sealed extends Login {
  expiresAt: number;
}

/** Long enough for a password, a second factor and a question for consent. */
const LOGIN_MS = 10 * 60_000;
const OWNER = "oidc login";
const MAX_LENGTH = 4096;
/** Logins that are remembered as used; beyond it, the provider still accepts each code only once. */
const MAX_USED = 10_000;

export function createLogins({ secretBox, publicUrl, clock }: LoginsOptions): Logins {
  const cookies = createCookies({ name: "posthorn-login", sameSite: "Lax", publicUrl });
  /** By the hash of the state, with the end of the login; oldest first. */
  const used = new Map<string, number>();

  function open(cookie: string | undefined): Sealed | undefined {
    if (cookie === undefined || cookie.length > MAX_LENGTH) return undefined;
    try {
      return JSON.parse(secretBox.open(Buffer.from(cookie, "base64url"), OWNER)) as Sealed;
    } catch {
      return undefined;
    }
  }

  /** False when it was used before. */
  function use({ state, expiresAt }: Sealed): boolean {
    const mark = createHash("sha256").update(state).digest("base64url");
    if (used.has(mark)) return false;
    for (const [one, end] of used) {
      if (used.size < MAX_USED && end > clock.wall()) break;
      used.delete(one);
    }
    used.set(mark, expiresAt);
    return true;
  }

  return {
    begin(request, login) {
      const sealed: Sealed = { ...login, expiresAt: clock.wall() + LOGIN_MS };
      const value = Buffer.from(secretBox.seal(JSON.stringify(sealed), OWNER)).toString("base64url");
      return cookies.write(request, value, LOGIN_MS / 1000);
    },
    take(request, state) {
      const login = open(cookies.read(request));
      if (login === undefined) throw failed("This browser has not begun a sign-in, or has already finished it.");
      if (login.expiresAt <= clock.wall()) throw failed("The sign-in took longer than 10 minutes.");
      if (state !== login.state) throw failed("The provider's answer belongs to another sign-in (state).");
      if (!use(login)) throw failed("This sign-in was already finished.");
      return login;
    },
    end: cookies.clear,
  };
}

function failed(reason: string): PosthornError {
  return new PosthornError("sign_in_failed", `${reason} Begin again.`);
}
