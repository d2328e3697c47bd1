import { invalidField } from "./errors.ts";

export const SCOPES = ["admin", "publish", "read"] as const;
export type Scope = (typeof SCOPES)[number];

/** The rights of the users of one group. */
export interface GroupRule {
  group: string;
  scopes: readonly Scope[];
  /** Undefined when the rights are not bound to a tenant. */
  tenantId: string | undefined;
}

export const GROUP_RULE_FORM =
  "write GROUP=SCOPES or GROUP=SCOPES@TENANT, for example ops=admin or acme-team=read@acme";

/** The name of a group may contain `=`, as in LDAP; scopes do not. */
const FORM = /^(?<group>.+)=(?<scopes>[a-z+]+)(?:@(?<tenant>[^=]{1,128}))?$/;

/** Reads `ops=admin`, `support=read+publish` or `acme-team=read@acme`. */
export function parseGroupRule(text: string): GroupRule {
  const { group, scopes: names = "", tenant } = FORM.exec(text)?.groups ?? {};
  const scopes = names.split("+");
  const unknown = scopes.find((name) => !SCOPES.includes(name as Scope));
  if (group === undefined)
    throw invalidField("groups", `${JSON.stringify(text)} is not a rule for a group; ${GROUP_RULE_FORM}`);
  if (unknown !== undefined) {
    throw invalidField(
      "groups",
      `${JSON.stringify(text)} has the unknown scope ${JSON.stringify(unknown)}; use ${SCOPES.join(", ")}`,
    );
  }
  if (!scopes.includes("read") && !scopes.includes("admin")) {
    throw invalidField(
      "groups",
      `${JSON.stringify(text)} lacks the scope read, which the dashboard needs; write for example read+publish`,
    );
  }
  return { group: group.trim(), scopes: scopes as Scope[], tenantId: tenant };
}

/** The first rule that names one of the groups decides. */
export function findGroupRule(rules: readonly GroupRule[], groups: readonly string[]): GroupRule | undefined {
  return rules.find(({ group }) => groups.includes(group));
}
