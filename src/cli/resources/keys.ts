import type { KeyWithSecret } from "../../../sdk/src/generated/shapes.ts";
import { type Scope, SCOPES } from "../../model/scopes.ts";
import { type ClientFlags, connect } from "../connect.ts";
import { usageFailure } from "../failure.ts";
import type { LocalFlags } from "../local.ts";
import { note, print } from "../output.ts";
import { readEnd } from "../read-value.ts";
import { ago, printStatus } from "./fields.ts";
import { type Call, findId, KEY, placeOf, type Resource, TENANT } from "./resource.ts";
import { flag, OF_TENANT, ownFlag } from "./flags.ts";

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
  actions: {
    create: {
      help: "create a key and print it once",
      takes: "",
      flags: [
        ownFlag("--local", "create the key in the database on this machine; the gateway may be running"),
        ownFlag("-c, --config <file>", "with --local: configuration file (default: posthorn.yaml, if there is one)"),
        ownFlag("--data-dir <folder>", "with --local: folder of the database"),
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
      run: createKey,
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
      path: ({ args: [id] }) => placeOf(KEY, id),
      print: ({ id, status }) => printStatus({ name: id, status }),
    },
  },
};

interface CreateKeyFlags extends LocalFlags, ClientFlags {
  local?: boolean;
}

export interface NewKey {
  name: string;
  scopes: Scope[];
  tenant_id?: string;
  expires_at?: string;
}

async function createKey({ flags, body }: Call<CreateKeyFlags>): Promise<void> {
  const given = body as unknown as NewKey;
  const request = { ...given, scopes: [...new Set(given.scopes)] };
  const { id, key, text } = await (flags.local === true ? createLocally : createByGateway)(flags, request);
  if (flags.json === true) return print(text);
  const where = request.tenant_id === undefined ? "" : ` in the tenant ${request.tenant_id}`;
  note(`${id} "${request.name}" allows ${request.scopes.join(", ")}${where}; shown only now`);
  print(key);
}

/** In the database itself, so that the owner of the data can replace a lost key. */
async function createLocally(flags: CreateKeyFlags, request: NewKey) {
  if (flags.url !== undefined || flags.key !== undefined) {
    throw usageFailure("--local works without a gateway: leave out --url and --key.");
  }
  const { createKeyLocally } = await import("../local-writes.ts");
  const made = createKeyLocally(flags, request);
  return { ...made, text: JSON.stringify({ ...made, tenant_id: null, expires_at: null, ...request }, null, 2) };
}

async function createByGateway(flags: CreateKeyFlags, request: NewKey) {
  if (flags.config !== undefined || flags.dataDir !== undefined) {
    throw usageFailure("--config and --data-dir are only for keys that are created with --local.");
  }
  const client = await connect(flags);
  const { tenant_id: tenant } = request;
  const tenantId = tenant === undefined ? undefined : await findId(client, TENANT, tenant);
  const answer = await client.send("POST", "/api/v1/keys", { json: { ...request, tenant_id: tenantId } });
  return { ...(answer.read() as KeyWithSecret), text: answer.text };
}
