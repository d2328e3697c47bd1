import { parseUrl } from "../../../model/addresses.ts";
import { DASHBOARD_PAGES } from "../../dashboard/pages.ts";

const BASE = "http://gateway.invalid";
const MAX_LENGTH = 1024;
const PAGES: ReadonlySet<string> = new Set(DASHBOARD_PAGES);
const HOME = "/";

/** Where a user goes after the sign-in: a page of the dashboard, and never another site; `/` for everything else. */
export function chooseReturnPath(wanted: string | undefined): string {
  if (wanted === undefined || wanted.length > MAX_LENGTH || !wanted.startsWith("/")) return HOME;
  // Parsed as browsers do, which turn `/\evil.example` and `/.//evil.example` into addresses of another site.
  const url = parseUrl(wanted, BASE);
  if (url === undefined || url.origin !== BASE) return HOME;
  return PAGES.has(url.pathname.split("/")[1] ?? "") ? url.pathname + url.search : HOME;
}
