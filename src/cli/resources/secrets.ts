import { CommandFailure } from "../failure.ts";
import { formatAgo, note, print } from "../output.ts";
import { readDuration, readSecret } from "../read-value.ts";
import { asText, printFields, type Field, type Moment, type Row } from "./fields.ts";
import { type Action, type Call, placeOf, type Resource, SUBSCRIPTION } from "./resource.ts";
import { flag, OF_TENANT } from "./flags.ts";

const at = (below: string): Pick<Action, "path"> => ({ path: ({ args: [id] }) => placeOf(SUBSCRIPTION, id, below) });
/** The API wants a body even when there are no settings. */
const body = ({ body: given }: Call) => given;

/** Secrets of subscriptions; the secrets of sources are commands of `sources`. */
export const RESOURCE: Resource = {
  path: SUBSCRIPTION.path,
  key: "subscription",
  named: SUBSCRIPTION,
  columns: [
    ["SUBSCRIPTION", "name"],
    ["ID", "id"],
    ["TENANT", "tenant_id"],
    ["SIGNED IN", "signature_header", ([header]) => [asText(header), "webhook-signature"].filter(Boolean).join(", ")],
    ["ED25519", "ed25519"],
  ],
  actions: {
    list: { help: "list the subscriptions that have secrets, without the secrets themselves", flags: [OF_TENANT] },
    rotate: {
      ...at("/rotate-secret"),
      help: "create a new secret, which signs beside the old one for a while, and print it",
      flags: [
        flag(
          "--overlap <duration>",
          "how long both secrets sign: 14d, 2h; 0 ends the old one immediately (default: 14d)",
          { field: "overlap_s", read: readDuration },
        ),
        flag("--secret-file <path>", "read the new secret from a file, or - for standard input", {
          field: "secret",
          read: readNewSecret,
        }),
        flag("--force", "abort a running rotation"),
      ],
      body,
      print: printNewSecret,
    },
    confirm: {
      ...at("/rotate-secret/confirm"),
      help: "confirm that the receiver has the new secret: from now on it makes the subscription's own signature header",
      flags: [flag("--retire", "end the old secret immediately")],
      body,
      print: printSecrets,
    },
    retire: {
      ...at("/rotate-secret/retire"),
      help: "end the old secret before the overlap is over",
      body,
      print: printSecrets,
    },
    show: {
      ...at("/secret"),
      help: "print the secrets that sign now; the gateway logs that they were read",
      print: printSecrets,
    },
  },
  notes: `Examples:
  posthorn secrets rotate erp --overlap 7d
  posthorn secrets confirm erp
  posthorn secrets show erp`,
};

/** Scripts that rotate secrets expect exit code 1 for a file that cannot be read. */
function readNewSecret(file: string): string {
  try {
    return readSecret(file);
  } catch (error) {
    throw new CommandFailure((error as Error).message);
  }
}

function printNewSecret({ secret, overlap_ends_at: end }: Row): void {
  note(
    typeof end === "string"
      ? `both secrets sign until ${end} (${formatAgo(end, Date.now())}); the receiver needs the new one by then`
      : "the old secret has ended",
  );
  // On a line of its own, so that a script can capture it in a variable.
  print(asText(secret) ?? "");
}

function printSecrets(row: Row): void {
  const secrets = row["secrets"] as Row[];
  const fields = secrets.map(({ state }, index): Field => {
    const members = ["secret", "created_at", "expires_at"].map((name) => `secrets.${index}.${name}`);
    return [asText(state) ?? "", members.join(" "), describeSecret];
  });
  printFields([...fields, ["public key", "ed25519.public_key"]], row);
}

function describeSecret([secret, createdAt, expiresAt]: readonly unknown[], { wallMs }: Moment): string {
  const end = typeof expiresAt === "string" ? `, ends ${formatAgo(expiresAt, wallMs)}` : "";
  const made = `made ${formatAgo(String(createdAt), wallMs)}${end}`;
  return secret === undefined ? made : `${asText(secret)}  (${made})`;
}
