import { PosthornError } from "../../model/errors.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { checkNamedTarget } from "../../model/hold-rules.ts";
import type { SourceInput, SourceKindRules } from "../../model/source.ts";
import type { Entry } from "../resource.ts";
import type { SourceRecord } from "./source-record.ts";

/** Sources of other tenants are not found. */
export function refuseForeign(entry: Entry<SourceRecord>, tenantId: string | undefined): Entry<SourceRecord> {
  if (tenantId === undefined || entry.thing.source.tenantId === tenantId) return entry;
  throw new PosthornError("not_found", `There is no source ${entry.id}.`);
}

export function refuseOtherTenant(given: string | undefined, owner: string): void {
  if (given === undefined || given === owner) return;
  const message = `tenant_id: it belongs to ${owner} and cannot be changed.`;
  throw new PosthornError("invalid_field", message, { field: "tenant_id" });
}

/** A declared name gets its webhooks. Those of `*` belong to another tenant, which must not lose them. */
export function refuseTakeover(name: string, bound: string | undefined): void {
  if (bound === undefined || bound === DEFAULT_TENANT) return;
  throw new PosthornError(
    "forbidden",
    `Webhooks to "${name}" are accepted by the * source for the tenant ${DEFAULT_TENANT}, and a key that is bound to ` +
      `${bound} cannot take them over. Create the source with a key that is not bound to a tenant ` +
      `(tenant_id: ${bound}), or set any_source: false.`,
  );
}

/** The broker's credentials belong to the gateway, and its queue may contain messages of any tenant. */
export function refuseBound(kind: SourceKindRules | undefined, bound: string | undefined): void {
  if (bound === undefined || kind?.isPulled !== true) return;
  throw new PosthornError(
    "forbidden",
    `A source of the kind ${kind.name} reads from a broker of the gateway, and this key is bound to the tenant ` +
      `${bound}. Use an admin key that is not bound to a tenant.`,
  );
}

/** Permission to create a source is not permission to read files of this machine. */
export function refusePath(manifest: SourceInput["manifest"], known: SourceInput["manifest"]): void {
  if (typeof manifest !== "string" || manifest === known) return;
  const message = "manifest: a path is allowed only in posthorn.yaml; give the document itself";
  throw new PosthornError("invalid_field", message, { field: "manifest" });
}

/** `targets`: the names of all targets of its tenant. */
export function refuseUnknownTarget(options: Readonly<Record<string, unknown>>, targets: readonly string[]): void {
  const [problem] = checkNamedTarget(options, targets);
  if (problem === undefined) return;
  throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}.`, { field: problem.field });
}

/** Without its target, the source would never pause. */
export function targetOfSource(target: string, { name }: { name: string }): PosthornError {
  return new PosthornError(
    "conflict",
    `The source "${name}" names "${target}" as its target. Give it another \`options.target\` first, or none.`,
    { details: { source: name } },
  );
}

export function refuseClash(known: SourceRecord | undefined): void {
  if (known?.managedBy !== "api") return;
  const { name } = known.source;
  throw new PosthornError(
    "conflict",
    `The source ${name} was created by API. Delete it there, or choose another name in posthorn.yaml.`,
  );
}
