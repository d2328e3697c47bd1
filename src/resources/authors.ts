import { AsyncLocalStorage } from "node:async_hooks";
import type { AuditNote } from "../store/port/audit.ts";

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

/**
 * The author of the current work, without passing it from call to call. Work that nobody asked for
 * is done by the gateway itself.
 */
export interface Authors {
  /** `work` counts as this author's until its promise has settled; what continues later is the gateway's. */
  run<Result>(author: Author, work: () => Result): Result;
  /** For decisions of the gateway while it handles somebody's request. */
  asGateway<Result>(work: () => Result): Result;
  current(): Author;
  /** Completes a note for the audit log with the current author. */
  note(action: AuditAction): AuditNote;
}

export const GATEWAY: Author = { actor: "gateway" };
export const CONFIG: Author = { actor: "config" };

interface Scope {
  author: Author;
  isOver: boolean;
}

export function createAuthors(): Authors {
  const storage = new AsyncLocalStorage<Scope>();
  let open = 0;

  /** Before Node 24 an enabled storage slows down every promise of the process, so it is disabled when not needed. */
  function end(scope: Scope): void {
    scope.isOver = true;
    open--;
    if (open === 0) storage.disable();
  }

  function run<Result>(author: Author, work: () => Result): Result {
    const scope = { author, isOver: false };
    open++;
    let result: Result;
    try {
      result = storage.run(scope, work);
    } catch (error) {
      end(scope);
      throw error;
    }
    if (result instanceof Promise) {
      result.then(
        () => end(scope),
        () => end(scope),
      );
    } else {
      end(scope);
    }
    return result;
  }

  function current(): Author {
    const scope = open === 0 ? undefined : storage.getStore();
    return scope === undefined || scope.isOver ? GATEWAY : scope.author;
  }

  return {
    run,
    asGateway: (work) => (open === 0 ? work() : run(GATEWAY, work)),
    current,
    note: (action) => ({ ...current(), ...action }),
  };
}
