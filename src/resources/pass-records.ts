import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import type { Authors } from "./authors.ts";
import type { Registry } from "./registry.ts";
import type { Entry, Resource } from "./resource.ts";

/**
 * What must be remembered of passes, which otherwise only their holders have: the portal links that were made, and the
 * links and sessions that were ended before their time.
 */
export type PassRecords = Awaited<ReturnType<typeof openPassRecords>>;

export interface PassRef {
  id: string;
  /** The tenant of a portal link; undefined for sessions. */
  tenantId?: string | undefined;
  /** The key that it stands for, or the user (`oidc:SUBJECT`). */
  keyId: string;
  madeAt: number;
}

export interface PassRecord extends PassRef {
  access?: string | undefined;
  /** Then no pass needs the record any more. */
  expiresAt: number;
  endedAt?: number | undefined;
}

/** No pass is valid for longer. */
export const MAX_PASS_MS = 7 * 24 * 3_600_000;
/** How many old records are removed with each new one. */
const FORGOTTEN_AT_ONCE = 100;

export async function openPassRecords(options: {
  registry: Registry;
  authors: Pick<Authors, "asGateway">;
  clock: Pick<Clock, "wall">;
}) {
  const { registry, authors, clock } = options;
  const passes = await registry.open<PassRecord>(PASSES);

  /** The caller writes into the audit log what it means. */
  async function put(record: PassRecord): Promise<void> {
    const isOver = ({ thing }: Entry<PassRecord>) => thing.expiresAt <= clock.wall() && thing.id !== record.id;
    await authors.asGateway(() =>
      registry.change(passes, (draft) => {
        for (const { id, tenantId } of passes.list().filter(isOver).slice(0, FORGOTTEN_AT_ONCE)) {
          draft.remove(passes, id, tenantId);
        }
        draft.put(passes, record);
      }),
    );
  }

  async function end(record: Omit<PassRecord, "madeAt" | "expiresAt">): Promise<void> {
    const now = clock.wall();
    await put({ ...record, madeAt: now, expiresAt: now + MAX_PASS_MS, endedAt: now });
  }

  return {
    isEnded({ id, tenantId, keyId, madeAt }: PassRef): boolean {
      if (passes.find(id, tenantId)?.thing.endedAt !== undefined) return true;
      return madeAt <= (passes.find(allOf(keyId))?.thing.endedAt ?? -Infinity);
    },
    addLink: put,
    /** The links of a tenant that still work, oldest first. */
    listLinks(tenantId: string): readonly PassRecord[] {
      const now = clock.wall();
      const all = passes.list().map(({ thing }) => thing);
      return all.filter(
        (one) =>
          one.tenantId === tenantId &&
          one.expiresAt > now &&
          one.endedAt === undefined &&
          one.madeAt > (passes.find(allOf(one.keyId))?.thing.endedAt ?? -Infinity),
      );
    },
    /** Throws `not_found` when the tenant has no such link. */
    async endLink(id: string, tenantId: string): Promise<void> {
      const found = passes.find(id, tenantId)?.thing;
      if (found === undefined) {
        throw new PosthornError("not_found", `The tenant ${tenantId} has no portal link ${id}.`);
      }
      if (found.endedAt === undefined) await put({ ...found, endedAt: clock.wall() });
    },
    endSession: ({ id, keyId }: Pick<PassRef, "id" | "keyId">) => end({ id, keyId }),
    /** Ends all sessions of a key or user, and the links that they made. */
    endAllOf: (keyId: string) => end({ id: allOf(keyId), keyId }),
  };
}

/** The id of the record that ends everything of a key or user; ids of passes have no colon. */
function allOf(keyId: string): string {
  return `all:${keyId}`;
}

const PASSES: Resource<PassRecord> = {
  kind: "pass",
  noun: "pass",
  format: 1,
  changesByItself: true,
  read: ({ id, tenantId, data }) => ({
    ...(JSON.parse(data) as Omit<PassRecord, "id" | "tenantId">),
    id,
    tenantId: tenantId === "" ? undefined : tenantId,
  }),
  write({ keyId, access, madeAt, expiresAt, endedAt }) {
    return { data: JSON.stringify({ keyId, access, madeAt, expiresAt, endedAt }) };
  },
  keyOf: ({ id, tenantId }) => ({ id, tenantId }),
};
