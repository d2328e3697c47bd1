import { SCOPES } from "../../model/scopes.ts";
import { runCreateKey, type KeyWish } from "../create-key.ts";
import { print } from "../output.ts";
import { readEnd } from "../read-value.ts";
import { ago, asText } from "./fields.ts";
import { KEY } from "./find-by-name.ts";
import { flag, OF_TENANT } from "./flags.ts";
import type { Resource } from "./resource.ts";

export const RESOURCE: Resource = {
  path: "/api/v1/keys",
  key: "key",
  named: KEY,
  columns: [
    ["KEY", "id"],
    ["BEGINS", "prefix"],
    ["NAME", "name"],
    ["SCOPES", "scopes"],
    ["TENANT", "tenant_id"],
    ["STATUS", "status"],
    ["CREATED", "created_at", ago],
    ["EXPIRES", "expires_at", ago],
  ],
  facts: [
    ["key", "id"],
    ["begins", "prefix"],
    ["expires", "expires_at"],
    ["revoked", "revoked_at"],
  ],
  acts: {
    create: {
      help: "create a key and print it once",
      takes: "",
      flags: [
        flag("--local", "create the key in the database on this machine; the gateway may be running", {
          place: "here",
        }),
        flag("-c, --config <file>", "with --local: configuration file (default: posthorn.yaml, if there is one)", {
          place: "here",
        }),
        flag("--data-dir <folder>", "with --local: folder of the database", { place: "here" }),
        flag("--name <name>", "what the key is for", { default: "created on the command line" }),
        flag("--scope <scope...>", "a scope of the key; may be given several times", {
          field: "scopes",
          choices: SCOPES,
          default: ["admin"],
        }),
        flag("--tenant <tenant>", "bind the key to this tenant", { field: "tenant_id" }),
        flag("--expires <when>", "when it expires: RFC 3339, or 12h, 30d from now", {
          field: "expires_at",
          read: readEnd,
        }),
      ],
      notes: `Examples:
  posthorn keys create --name shop --scope publish --scope read --tenant acme
  posthorn keys create --name contractor --expires 30d
  export POSTHORN_API_KEY=$(posthorn keys create --local)`,
      run: ({ flags, body }) => runCreateKey(flags, body as unknown as KeyWish),
    },
    list: { help: "list keys by age, without their secret parts", flags: [OF_TENANT] },
    show: { help: "show a key, without its secret part" },
    update: {
      help: "change the given settings of a key and keep the rest",
      flags: [
        flag("--name <name>", "what the key is for"),
        flag("--scope <scope...>", "a scope of the key; the given scopes replace all earlier ones", {
          field: "scopes",
          choices: SCOPES,
        }),
        flag("--expires <when>", "when it expires: RFC 3339, or 12h, 30d from now; or never", {
          field: "expires_at",
          read: (text, name) => (text === "never" ? null : readEnd(text, name)),
        }),
      ],
    },
    revoke: {
      help: "revoke a key immediately and permanently",
      method: "DELETE",
      path: ({ args }) => `/api/v1/keys/${encodeURIComponent(args[0] ?? "")}`,
      tell: ({ id, status }) => print(`${asText(id)}: ${asText(status)}`),
    },
  },
};
