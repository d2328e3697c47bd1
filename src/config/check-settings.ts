import { resolve } from "node:path";
import { parseIpRange, parseUrl } from "../model/addresses.ts";
import { checkDefaultConnections } from "./connections.ts";
import { checkSmtp } from "./messages.ts";
import { checkOidc } from "./oidc.ts";
import { findAt, setAt, SETTINGS } from "./settings-tree.ts";
import { describeValue } from "./setting-schema.ts";
import { parseStoreUrl } from "./store-url.ts";

type Tree = Record<string, unknown>;

/** Reports what is wrong with the setting at a path; the caller adds the place. */
type Complain = (path: string, message: string) => void;

/** Checks that the schema cannot express, on single settings and their combinations; also normalizes paths and URLs. */
export function checkSettings(tree: Tree, cwd: string, complain: Complain): void {
  for (const { path, keys, schema } of SETTINGS) {
    const value = findAt(tree, keys);
    if (schema.path === true && typeof value === "string") setAt(tree, keys, resolve(cwd, value));
    if (schema.cidrs === true && Array.isArray(value)) checkCidrs(path, value, complain);
  }
  checkStoreUrl(tree, cwd, complain);
  checkPublicUrl(tree, complain);
  checkEgressProxy(tree, complain);
  checkDefaultConnections(tree, complain);
  checkSmtp(tree, complain);
  checkOidc(tree, complain);
  if (/bot/i.test(String(tree["user_agent"]))) {
    complain("user_agent", "must not contain `bot`, which many firewalls reject; choose another name");
  }
  if ((tree["tls_cert"] === undefined) !== (tree["tls_key"] === undefined)) {
    const [given, missing] = tree["tls_cert"] === undefined ? ["tls_key", "tls_cert"] : ["tls_cert", "tls_key"];
    complain(given, `also needs ${missing}; set both or neither`);
  }
  const headersTimeoutS = Number(findAt(tree, ["limits", "headers_timeout_s"]));
  if (Number(findAt(tree, ["limits", "request_timeout_s"])) < headersTimeoutS) {
    complain("limits.request_timeout_s", `must not be less than headers_timeout_s (${headersTimeoutS})`);
  }
}

function checkCidrs(path: string, cidrs: readonly unknown[], complain: Complain): void {
  for (const cidr of cidrs) {
    if (typeof cidr === "string" && !(cidr.includes("/") && parseIpRange(cidr) !== undefined)) {
      complain(path, `${describeValue(cidr)} is not a CIDR; write for example 10.0.0.0/8, 192.168.1.5/32 or fd00::/8`);
    }
  }
}

function checkStoreUrl(tree: Tree, cwd: string, complain: Complain): void {
  const url = tree["store_url"];
  if (typeof url !== "string") return;
  const result = parseStoreUrl(url, cwd);
  if ("problem" in result) complain("store_url", result.problem);
  else tree["store_url"] = result.url;
}

function checkPublicUrl(tree: Tree, complain: Complain): void {
  const text = tree["public_url"];
  if (typeof text !== "string") return;
  const parsed = parseUrl(text);
  if (parsed === undefined) {
    complain("public_url", `${describeValue(text)} is not a URL; write for example https://hooks.example.com`);
  } else if (parsed.protocol !== "https:" && parsed.protocol !== "http:") {
    complain("public_url", `must begin with https:// or http://, not ${parsed.protocol}`);
  } else if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    complain("public_url", "must not have a user, a password, a query or a fragment");
  } else {
    tree["public_url"] = parsed.href.replace(/\/+$/, "");
  }
}

/** The value is never repeated: it may contain a password. */
function checkEgressProxy(tree: Tree, complain: Complain): void {
  const text = tree["egress_proxy"];
  if (typeof text !== "string") return;
  const url = parseUrl(text);
  if (url === undefined || url.protocol !== "http:" || url.hostname === "") {
    complain("egress_proxy", "is not the URL of a proxy; write for example http://proxy.internal:3128");
  } else if ((url.pathname !== "/" && url.pathname !== "") || url.search !== "" || url.hash !== "") {
    complain("egress_proxy", "must not have a path, a query or a fragment");
  } else if (!isDecodable(url.username + url.password) || /%3a/i.test(url.username)) {
    complain("egress_proxy", "has a user name or password that cannot be used; percent-encode special characters");
  }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
