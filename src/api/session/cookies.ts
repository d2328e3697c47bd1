import type { IncomingMessage } from "node:http";
import { PosthornError } from "../../model/errors.ts";
import { isLoopbackHost, parseUrl } from "../../model/addresses.ts";

/** A cookie for the gateway alone; its name and attributes depend on how the browser reaches the gateway. */
export interface Cookies {
  read(request: IncomingMessage): string | undefined;
  /** Throws `insecure_sign_in` if a cookie could be read on the network. */
  refuseInsecure(request: IncomingMessage): void;
  /** The value of `Set-Cookie`. Throws as `refuseInsecure` does. */
  write(request: IncomingMessage, value: string, maxAgeS: number): string;
  clear(request: IncomingMessage): string;
}

/** Browsers accept names with this prefix over https only, for this host and all its paths. */
const SECURE_PREFIX = "__Host-";

export interface CookiesOptions {
  name: string;
  /** `Lax`: also sent when a link or a redirect on another site leads here. */
  sameSite: "Strict" | "Lax";
  publicUrl: (request: IncomingMessage) => string;
}

export function createCookies({ name: bareName, sameSite, publicUrl }: CookiesOptions): Cookies {
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
      "Signing in over plain http works only on the gateway's own machine. Use https and set POSTHORN_PUBLIC_URL, " +
        "or reach it through a tunnel such as `ssh -L 8080:127.0.0.1:8080 HOST`.",
    );
  }

  return {
    refuseInsecure: (request) => void requireForm(request),
    read(request) {
      const { cookie } = request.headers;
      if (cookie === undefined) return undefined;
      const name = formOf(request)?.name;
      if (name === undefined) return undefined;
      const found = cookie.split(";").find((one) => one.trimStart().startsWith(`${name}=`));
      return found?.slice(found.indexOf("=") + 1).trim();
    },
    write(request, value, maxAgeS) {
      const form = requireForm(request);
      return `${form.name}=${value}; ${form.attributes}; Max-Age=${maxAgeS}`;
    },
    clear(request) {
      const { name, attributes } = formOf(request) ?? secure;
      return `${name}=; ${attributes}; Max-Age=0`;
    },
  };
}
