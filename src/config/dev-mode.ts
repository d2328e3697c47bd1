import { isLoopbackHost } from "../model/ip-address.ts";

type Tree = Record<string, unknown>;

/** When a receiver was not running, its failed events arrive soon after it is started. */
const DEV_RETRY_DELAYS_S = [1, 1, 2, 2, 3, 3, ...Array.from({ length: 60 }, () => 5)];

/** The settings that `dev` changes, unless they are set. */
const DEV_SETTINGS: Tree = {
  allow_http_destinations: true,
  allow_private_destinations: ["127.0.0.0/8", "::1/128"],
  default_retry_policy: DEV_RETRY_DELAYS_S,
  max_probe_s: 2,
};

/** Dev mode loosens rules that protect others, so nobody else may reach the gateway. */
export function applyDevMode(
  tree: Tree,
  isDefault: (path: string) => boolean,
  complain: (path: string, message: string) => void,
): void {
  if (tree["dev"] !== true) return;
  for (const [path, value] of Object.entries(DEV_SETTINGS)) if (isDefault(path)) tree[path] = value;
  const { public_url: publicUrl, trusted_proxies: proxies, host } = tree;
  const reason = "is for your own machine only, and cannot be used together with";
  if (publicUrl !== undefined) complain("dev", `${reason} public_url`);
  if (Array.isArray(proxies) && proxies.length > 0) complain("dev", `${reason} trusted_proxies`);
  if (typeof host === "string" && !isLoopbackHost(host))
    complain("dev", `${reason} the host ${host}; listen on 127.0.0.1`);
}
