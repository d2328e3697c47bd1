import { type Clock, startRounds, type Rounds, createTurns } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import type {
  IdempotencyMark,
  RecordKey,
  RecordKind,
  Records,
  StoredRecord,
  WriteRejection,
} from "../store/port/records.ts";
import { createAuthors, type Authors } from "./authors.ts";
import {
  createCollection,
  newerFormat,
  type Collection,
  type OpenCollection,
  type Change,
  type Entry,
  type Resource,
} from "./resource.ts";
import { createDraft, type Draft, type OpenDraft, type Pending } from "./draft.ts";
import type { AuditNote } from "../store/port/audit.ts";
import { createWorkScope } from "./work-scope.ts";

/**
 * Everything that users configure, kept in the store and in memory. Memory learns of changes only from the
 * store, even of its own, so it is the same in every process on one store.
 */
export interface Registry {
  /** Loads all things of one kind. */
  open<Thing>(resource: Resource<Thing>): Promise<Collection<Thing>>;
  /**
   * Writes what `edit` puts into the draft, all or nothing, and resolves when memory shows it. Changes of one kind run
   * one after the other. `edit` is called again, with a new draft, when another process was faster.
   */
  change<Thing, Result>(of: Collection<Thing>, edit: Edit<Result>): Promise<Result>;
  /** As `change` for several kinds at once: no other change runs at the same time. */
  changeAll<Result>(edit: Edit<Result>): Promise<Result>;
  /** As `change` for one thing; resolves to its written entry. */
  changeOne<Thing>(of: Collection<Thing>, edit: Edit<Written<Thing>>): Promise<Entry<Thing>>;
  /** The same for a thing that is created or replaced. */
  put<Thing>(of: Collection<Thing>, edit: Edit<Written<Thing>>): Promise<Put<Thing>>;
  /** As `change`, but only once: a repeated request with the same `Idempotency-Key` gets the result of the first. */
  make<Thing>(of: Collection<Thing>, once: Once | undefined, edit: Edit<Pending<Thing>>): Promise<Made<Thing>>;
  /** Reads the changes of other processes, and announces again what a listener failed at. */
  follow(): Promise<void>;
}

type Edit<Result> = (draft: Draft) => Result | Promise<Result>;

export interface Made<Thing> {
  entry: Entry<Thing>;
  /** True when an earlier request created it. */
  isReplay: boolean;
}

/** What was put into the draft, or an entry that stays as it is. */
type Written<Thing> = Pick<Pending<Thing>, "entry"> & { readonly isNew?: boolean };

export interface Put<Thing> {
  entry: Entry<Thing>;
  isNew: boolean;
}

/** A request with an `Idempotency-Key`. */
export interface Once {
  /** The kind of thing and its owner; the same key in another scope is another key. */
  scope: string;
  key: string;
  /** A hash of the whole request. */
  fingerprint: string;
  /** The tenant of the thing; left out when its kind belongs to the whole gateway. */
  tenantId?: string | undefined;
}

/** Attempts in a row. After that many, others change things faster than they can be checked. */
const MAX_EDITS = 20;

export function createRegistry(options: {
  records: Records;
  clock: Pick<Clock, "wall">;
  /** Knows the author of a change; by default the gateway itself. */
  authors?: Authors | undefined;
}): Registry {
  const { records, clock, authors = createAuthors() } = options;
  // Each collection has another type; `openOf` returns it with the type that it was opened with.
  const collections = new Map<RecordKind, OpenCollection<unknown>>();
  const turns = new Map<RecordKind, ReturnType<typeof createTurns>>();
  const followInTurn = createTurns();
  /** By kind: changes in memory that its listener has not processed. */
  const unannounced = new Map<RecordKind, Change<unknown>[]>();
  let version = 0;

  function openOf<Thing>(of: Collection<Thing>): OpenCollection<Thing> {
    return collections.get(of.resource.kind) as unknown as OpenCollection<Thing>;
  }

  function take(changed: readonly StoredRecord[]): void {
    for (const record of changed) {
      const collection = collections.get(record.kind);
      const change = collection?.take(record);
      if (change === undefined) continue;
      const changes = unannounced.get(record.kind) ?? [];
      changes.push(change);
      unannounced.set(record.kind, changes);
    }
  }

  /** Calls every listener, whatever becomes of the others. A listener that fails gets its changes again later. */
  async function announce(): Promise<ReadonlyMap<RecordKind, unknown>> {
    const failed = new Map<RecordKind, unknown>();
    for (const [kind, changes] of unannounced) {
      const { resource, list } = collections.get(kind) as OpenCollection<unknown>;
      try {
        await resource.onChange?.(changes, list);
        unannounced.delete(kind);
      } catch (error) {
        failed.set(kind, error);
      }
    }
    return failed;
  }

  /** One run after the other, so that listeners get changes in order. Resolves to the errors of the listeners. */
  function catchUp(wanted = Number.POSITIVE_INFINITY): Promise<ReadonlyMap<RecordKind, unknown>> {
    return followInTurn(async () => {
      if (version < wanted) {
        const changed = await records.changesSince(version, [...collections.keys()]);
        take(changed.records);
        version = changed.version;
      }
      return announce();
    });
  }

  async function follow(): Promise<void> {
    throwAll([...(await catchUp()).values()]);
  }

  async function editAndWrite<Result>(
    edit: Edit<Result>,
    markOf: (result: Result) => IdempotencyMark | undefined,
  ): Promise<Result> {
    for (let time = 1; time <= MAX_EDITS; time++) {
      const versionBefore = version;
      const draft: OpenDraft = createDraft({ version: () => version, open: openOf, authors });
      let result: Result;
      try {
        result = await edit(draft);
      } catch (error) {
        // Read the latest changes before rejecting anything.
        await catchUp();
        if (version === versionBefore || time === MAX_EDITS) throw error;
        continue;
      }
      if (rehearsals.current() === true) throw new Rehearsed(draft.request.audit ?? []);
      const mark = markOf(result);
      if (!draft.hasChanges && mark === undefined) return result;
      const at = clock.wall();
      const written = await records.write({ ...draft.request, mark, at });
      if (written.kind === "written") {
        draft.written(written, at);
        const failed = await catchUp(written.version);
        const own = draft.request.changes.find(({ kind }) => failed.has(kind));
        if (own !== undefined) throw new NotInEffect(failed.get(own.kind));
        return result;
      }
      await catchUp();
      rejectForGood(written);
    }
    throw new PosthornError("unavailable", "Others change the configuration at this moment. Try again.", {
      retryAfterS: 1,
    });
  }

  /** Throws for rejections that another try would not change. */
  function rejectForGood(rejection: WriteRejection): void {
    if (rejection.why === "idempotency_key_used") throw new KeyUsed(rejection.mark);
    if (rejection.why === "newer_format")
      throw newerFormat(resourceOf(rejection.key), rejection.key.id, rejection.format);
    if (rejection.why === "erasing") throw tenantErasing(rejection.tenantId);
  }

  function resourceOf(key: RecordKey): Resource<unknown> {
    return (collections.get(key.kind) as OpenCollection<unknown>).resource;
  }

  function inTurn<Thing, Result>(of: Collection<Thing>, run: () => Promise<Result>): Promise<Result> {
    return (turns.get(of.resource.kind) as ReturnType<typeof createTurns>)(run);
  }

  /** The result of an earlier request with this key. */
  function answerAgain<Thing>(of: Collection<Thing>, once: Once, mark: IdempotencyMark): Made<Thing> {
    if (mark.fingerprint !== once.fingerprint) {
      throw new PosthornError(
        "idempotency_key_reused",
        "This Idempotency-Key was used for another request; use a new one.",
      );
    }
    const entry = of.find(mark.madeId, once.tenantId);
    if (entry !== undefined) return { entry, isReplay: true };
    throw new PosthornError("conflict", "The resource that this Idempotency-Key created was deleted; use a new one.");
  }

  async function makeOnce<Thing>(of: Collection<Thing>, once: Once, edit: Edit<Pending<Thing>>): Promise<Made<Thing>> {
    const findEarlier = async () => {
      const mark = await records.findMark(once.scope, once.key);
      if (mark === undefined) return undefined;
      // Another process may have created it just now.
      await catchUp();
      return answerAgain(of, once, mark);
    };
    const earlier = await findEarlier();
    if (earlier !== undefined) return earlier;
    const { scope, key, fingerprint } = once;
    const markOf = ({ id }: Pending<Thing>) => ({ scope, key, fingerprint, madeId: id, madeAt: clock.wall() });
    try {
      return { entry: (await inTurn(of, () => editAndWrite(edit, markOf))).entry, isReplay: false };
    } catch (error) {
      if (error instanceof KeyUsed) return answerAgain(of, once, error.mark);
      // The rejection may come from what another request with the same key has just created.
      const faster = await findEarlier();
      if (faster !== undefined) return faster;
      throw error;
    }
  }

  function change<Thing, Result>(of: Collection<Thing>, edit: Edit<Result>): Promise<Result> {
    return inTurn(of, () => editAndWrite(edit, () => undefined));
  }

  return {
    async open<Thing>(resource: Resource<Thing>) {
      const collection = createCollection(resource);
      const loaded =
        resource.remembersDeleted === true
          ? await records.changesSince(0, [resource.kind])
          : await records.load([resource.kind]);
      // Kinds opened earlier are at an older version and follow from there.
      if (collections.size === 0) version = loaded.version;
      turns.set(resource.kind, createTurns());
      collections.set(resource.kind, collection);
      take(loaded.records);
      throwAll([...(await announce()).values()]);
      return collection;
    },
    change,
    changeAll<Result>(edit: Edit<Result>) {
      const run = () => editAndWrite(edit, () => undefined);
      return [...turns.values()].reduce<typeof run>((inner, turn) => () => turn(inner), run)();
    },
    async changeOne(of, edit) {
      return (await change(of, edit)).entry;
    },
    async put(of, edit) {
      const { entry, isNew = false } = await change(of, edit);
      return { entry, isNew };
    },
    async make(of, once, edit) {
      if (once !== undefined) return makeOnce(of, once, edit);
      return { entry: (await change(of, edit)).entry, isReplay: false };
    },
    follow,
  };
}

function throwAll(errors: readonly unknown[]): void {
  if (errors.length > 1) throw new AggregateError(errors, "several kinds of changes are not in effect");
  if (errors.length === 1) throw errors[0];
}

/** The change was written, and a part of the gateway could not follow it: it gets the change again later. */
export class NotInEffect extends PosthornError {
  constructor(cause: unknown) {
    super(
      "internal_error",
      "The change is saved but not in effect yet. Do not repeat it: the gateway tries again every " +
        `${FOLLOW_EVERY_MS / 1000} seconds until it is. The gateway's log has the reason.`,
      { cause },
    );
  }
}

/** The error for a tenant whose erasure the store has reported. */
export function tenantErasing(tenantId: string): PosthornError {
  return new PosthornError(
    "conflict",
    `The tenant ${tenantId} is being erased, and nothing can be created or changed for it until that is over. ` +
      `GET /api/v1/tenants/${tenantId}/erase shows the progress.`,
    { details: { tenant_id: tenantId } },
  );
}

class KeyUsed extends Error {
  readonly mark: IdempotencyMark;

  constructor(mark: IdempotencyMark) {
    super("the Idempotency-Key is already in use");
    this.mark = mark;
  }
}

/** Without changes this costs one lookup in an index. */
export const FOLLOW_EVERY_MS = 2000;

/** Reads the changes of other processes at regular intervals. */
export function startFollowing(options: {
  registry: Pick<Registry, "follow">;
  clock: Clock;
  onFault: (error: unknown) => void;
}): Rounds {
  const { registry, clock, onFault } = options;
  return startRounds({ clock, everyMs: FOLLOW_EVERY_MS, run: () => registry.follow(), onFault });
}

/** Set while changes are checked like all others but not written. */
const rehearsals = createWorkScope<true>();

/** The audit notes of the change that `work` would make; empty when it would change nothing. */
export async function rehearse(work: () => Promise<unknown>): Promise<readonly AuditNote[]> {
  try {
    await rehearsals.run(true, work);
  } catch (error) {
    if (error instanceof Rehearsed) return error.notes;
    throw error;
  }
  throw new Error("a rehearsal has ended in a change");
}

/** Thrown when a change of a rehearsal has passed its checks. */
class Rehearsed extends Error {
  readonly notes: readonly AuditNote[];

  constructor(notes: readonly AuditNote[]) {
    super("rehearsed");
    this.notes = notes;
  }
}
