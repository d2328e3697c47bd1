import { AsyncLocalStorage } from "node:async_hooks";
import type { AuditNote } from "../store/port/audit.ts";

/** Who does what is being done. */
export interface Author {
  /** `key:ID`, `portal:ID` of the key that made the link, `config`, `gateway` or `local:USER`. */
  actor: string;
  /** Method and route. */
  via?: string | undefined;
  /** Of the client. */
  address?: string | undefined;
}

/** What is told of an act, without who did it. */
export type Deed = Omit<AuditNote, keyof Author>;

/**
 * Who is at work, known to everything that is done for them without being handed on from call to call. What nobody has
 * asked for, the gateway does by itself.
 */
export interface Authors {
  /** All that `work` does until its promise has settled is done by this one; what goes on after that is the gateway's. */
  run<Result>(author: Author, work: () => Result): Result;
  /** For what the gateway decides while it does what somebody asked for. */
  asGateway<Result>(work: () => Result): Result;
  current(): Author;
  /** A note for the audit log, by who is at work. */
  note(deed: Deed): AuditNote;
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

  /** Before Node 24 a storage that is in use costs every promise of the process: so it is in use only meanwhile. */
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
    note: (deed) => ({ ...current(), ...deed }),
  };
}
