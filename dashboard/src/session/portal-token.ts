const KEY = "posthorn-portal-token";

/** Of a partner: browsers keep cookies from pages in frames, so the token of the link is sent with each request. */
let token = sessionStorage.getItem(KEY) ?? undefined;

export function findPortalToken(): string | undefined {
  return token;
}

export function keepPortalToken(given: string): void {
  token = given;
  sessionStorage.setItem(KEY, given);
}

/** The token of a link, which stands behind `#`, where it is sent to nobody; it is taken out of the address at once. */
export function takeTokenFromAddress(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
  if (given !== undefined) history.replaceState(null, "", location.pathname + location.search);
  return given;
}
