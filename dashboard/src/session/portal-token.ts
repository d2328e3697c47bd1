import type { AroundNavHandler } from "wouter";
import { FRAMED_PAGE } from "../../../src/api/dashboard/pages.ts";
import { readKept, writeKept } from "./kept.ts";

/** All pages of the partner portal are below this path: no other path of the gateway can be shown in a frame. */
export const PORTAL_PATH = `/${FRAMED_PAGE}`;

/** Whether this is the page of a partner. Here a session of the dashboard, in the same browser, is never used. */
export const isPortal = location.pathname.split("/")[1] === FRAMED_PAGE;

const KEY = "posthorn-portal-token";

/** Of a partner: browsers keep cookies from pages in frames, so the token of the link is sent with each request. */
const token = isPortal ? (takeTokenFromAddress() ?? findInHistory() ?? readKept(sessionStore, KEY)) : undefined;
if (token !== undefined) {
  writeKept(sessionStore, KEY, token);
  history.replaceState(withToken(), "");
}
// A new link in a frame that still shows the old one's page changes only what stands behind #.
if (isPortal) addEventListener("hashchange", () => location.hash.startsWith("#token=") && location.reload());

export function findPortalToken(): string | undefined {
  return token;
}

/** The token of a link, which stands behind `#`, where it is sent to nobody; it is taken out of the address at once. */
export function takeTokenFromAddress(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
  if (given !== undefined) history.replaceState(null, "", location.pathname + location.search);
  return given;
}

/** For other addresses in the same tab, which forgets it when it is closed. */
function sessionStore(): Storage {
  return sessionStorage;
}

interface Kept {
  portalToken?: string | undefined;
}

/** For a reload: browsers that allow a frame no storage still keep what belongs to an entry of its history. */
function findInHistory(): string | undefined {
  return (history.state as Kept | null)?.portalToken;
}

function withToken(): Kept {
  return { portalToken: token };
}

/** Each entry that the router adds keeps it too. */
export const navigateWithToken: AroundNavHandler = (navigate, to, options) =>
  navigate(to, token === undefined ? options : { ...options, state: withToken() });
