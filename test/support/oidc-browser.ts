/** A browser without a screen: it follows redirects, keeps cookies by host and port, and fills in the provider's forms. */
export interface OidcBrowser {
  /** Goes to an address and follows redirects; ends before an address that `stop` names, or at an answer that is none. */
  go(url: string, stop?: (url: string) => boolean): Promise<Visit>;
  /** Logs in at the provider and consents, up to the gateway's callback, which is not called. */
  logIn(gatewayUrl: string, login: string, query?: string): Promise<string>;
  cookie(url: string, name: RegExp): string | undefined;
  setCookie(url: string, pair: string): void;
}

export interface Visit {
  url: string;
  status: number;
  headers: Headers;
  text: string;
}

const MAX_HOPS = 20;
const isCallback = (url: string) => new URL(url).pathname.endsWith("/callback");

export function createOidcBrowser(): OidcBrowser {
  const jars = new Map<string, Map<string, string>>();

  function jarOf(url: string): Map<string, string> {
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    return jar;
  }

  function setCookie(url: string, line: string): void {
    const [pair = "", ...attributes] = line.split(";");
    const at = pair.indexOf("=");
    const isOver = attributes.some(
      (one) => one.trim() === "Max-Age=0" || one.trim().startsWith("expires=Thu, 01 Jan 1970"),
    );
    if (isOver) jarOf(url).delete(pair.slice(0, at));
    else jarOf(url).set(pair.slice(0, at), pair.slice(at + 1));
  }

  async function ask(url: string, form?: Readonly<Record<string, string>>): Promise<Visit> {
    const cookie = [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { accept: "text/html", ...(cookie !== "" && { cookie }) },
      ...(form !== undefined && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of answer.headers.getSetCookie()) setCookie(url, line);
    return { url, status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  async function follow(first: Visit, stop: (url: string) => boolean): Promise<Visit> {
    let visit = first;
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const location = visit.headers.get("location");
      if (location === null) return visit;
      const next = new URL(location, visit.url).href;
      if (stop(next)) return { ...visit, url: next };
      visit = await ask(next);
    }
    throw new Error(`more than ${MAX_HOPS} redirects, the last to ${visit.url}`);
  }

  const go: OidcBrowser["go"] = async (url, stop = () => false) => follow(await ask(url), stop);

  return {
    go,
    async logIn(gatewayUrl, login, query = "") {
      let visit = await go(`${gatewayUrl}/api/v1/sign-in/oidc${query}`, isCallback);
      for (const form of [{ prompt: "login", login, password: "any" }, { prompt: "consent" }]) {
        if (isCallback(visit.url)) return visit.url;
        const action = /<form[^>]* action="([^"]+)"/.exec(visit.text)?.[1];
        if (action === undefined) throw new Error(`no form at ${visit.url}: ${visit.status} ${visit.text}`);
        visit = await follow(await ask(new URL(action, visit.url).href, form), isCallback);
      }
      if (!isCallback(visit.url)) throw new Error(`not signed in at ${visit.url}: ${visit.text}`);
      return visit.url;
    },
    cookie: (url, name) => {
      const found = [...jarOf(url)].find(([one]) => name.test(one));
      return found && `${found[0]}=${found[1]}`;
    },
    setCookie,
  };
}
