import { PosthornError } from "../../domain/errors.ts";
import { DEFAULT_TENANT } from "../../domain/event.ts";
import { checkNamedTarget } from "../../domain/hold-rules.ts";
import type { SourceInput, SourceKindRules } from "../../domain/source.ts";
import type { Entry } from "../resource.ts";
import type { SourceRecord } from "./source-record.ts";

/** What another tenant has is not there. */
export function refuseForeign(entry: Entry<SourceRecord>, tenantId: string | undefined): Entry<SourceRecord> {
  if (tenantId === undefined || entry.thing.source.tenantId === tenantId) return entry;
  throw new PosthornError("not_found", `There is no source ${entry.id}.`);
}

export function refuseOtherTenant(given: string | undefined, owner: string): void {
  if (given === undefined || given === owner) return;
  const message = `tenant_id: it belongs to ${owner}, for good.`;
  throw new PosthornError("invalid_field", message, { field: "tenant_id" });
}

/** Whoever declares a name gets its webhooks: those of `*` are another tenant's, and nobody else may take them. */
export function refuseTakeover(name: string, bound: string | undefined): void {
  if (bound === undefined || bound === DEFAULT_TENANT) return;
  throw new PosthornError(
    "forbidden",
    `Webhooks to "${name}" are taken by the * source for the tenant ${DEFAULT_TENANT}, and a key that is bound to ` +
      `${bound} cannot take them over. Ask for the source with a key that is bound to no tenant ` +
      `(tenant_id: ${bound}), or for any_source: false.`,
  );
}

/** Its queue is at a broker whose credentials belong to the gateway, and anybody's messages may be in it. */
export function refuseBound(kind: SourceKindRules | undefined, bound: string | undefined): void {
  if (bound === undefined || kind?.pull === undefined) return;
  throw new PosthornError(
    "forbidden",
    `A source of the kind ${kind.name} takes from a broker of the gateway, and this key is bound to the tenant ` +
      `${bound}. Use an admin key that is bound to no tenant.`,
  );
}

/** Whoever may make a source may not read the files of this machine. */
export function refusePath(manifest: SourceInput["manifest"], known: SourceInput["manifest"]): void {
  if (typeof manifest !== "string" || manifest === known) return;
  const message = "manifest: a path can be given in posthorn.yaml only; give the document itself";
  throw new PosthornError("invalid_field", message, { field: "manifest" });
}

/** `targets`: the names of all of its tenant. */
export function refuseUnknownTarget(options: Readonly<Record<string, unknown>>, targets: readonly string[]): void {
  const [problem] = checkNamedTarget(options, targets);
  if (problem === undefined) return;
  throw new PosthornError("invalid_field", `${problem.field}: ${problem.message}.`, { field: problem.field });
}

/** Without its target nothing would hold a source back. */
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
    `The source ${name} was made by API. Delete it there, or choose another name in posthorn.yaml.`,
  );
}
