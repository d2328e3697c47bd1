import type { AuditNote } from "../store/port/audit.ts";
import { createWorkScope, type WorkScope } from "./work-scope.ts";

/** Who makes a change. */
export interface Author {
  /** `key:ID`, `oidc:SUBJECT` of a user, `portal:ID` of the key that created the link, `config`, `gateway` or `local:USER`. */
  actor: string;
  /** HTTP method and route. */
  via?: string | undefined;
  /** The address of the client. */
  address?: string | undefined;
}

/** An entry for the audit log without its author. */
export type AuditAction = Omit<AuditNote, keyof Author>;

/** The author of the current work. Work that nobody asked for is done by the gateway itself. */
export interface Authors extends Pick<WorkScope<Author>, "run"> {
  /** For decisions of the gateway while it handles somebody's request. */
  asGateway<Result>(work: () => Result): Result;
  current(): Author;
  /** Completes a note for the audit log with the current author. */
  note(action: AuditAction): AuditNote;
}

export const GATEWAY: Author = { actor: "gateway" };
export const CONFIG: Author = { actor: "config" };

export function createAuthors(): Authors {
  const scope = createWorkScope<Author>();
  const current = () => scope.current() ?? GATEWAY;
  return {
    run: scope.run,
    asGateway: (work) => (scope.current() === undefined ? work() : scope.run(GATEWAY, work)),
    current,
    note: (action) => ({ ...current(), ...action }),
  };
}
