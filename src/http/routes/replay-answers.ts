import type { FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../../domain/errors.ts";
import { stableId } from "../../domain/ids.ts";
import type { ReplayFilter, ReplayKind } from "../../domain/replay.ts";
import type { BulkReplays } from "../../operate/replays/bulk-replays.ts";
import { readIdempotencyKey } from "../once.ts";
import { presentReplay } from "../present/replay.ts";

interface Selection {
  filter?: ReplayFilter | undefined;
  /** Said instead of a filter, so that nobody means everything by mistake. */
  all?: true | undefined;
  plan?: boolean | undefined;
}

/** How every route that begins a job answers. */
export function createReplayAnswers(bulkReplays: BulkReplays) {
  function toWish(request: FastifyRequest, kind: ReplayKind, { filter, all }: Selection) {
    if ((filter === undefined) === (all === undefined)) {
      throw new PosthornError("invalid_field", "Say which by filter, or all of them by all; one of the two.", {
        field: "filter",
      });
    }
    const boundTo = request.caller?.tenantId;
    return { kind, filter: ofTenant(filter ?? {}, boundTo), boundTo };
  }

  return {
    toWish,

    /** 200 with a count when it is only planned, else 202 with the job. */
    async startReplay(request: FastifyRequest, reply: FastifyReply, kind: ReplayKind, selection: Selection) {
      const wish = toWish(request, kind, selection);
      if (selection.plan === true) {
        const { count, isExact } = await bulkReplays.plan(wish);
        return reply.send({ kind, filter: wish.filter, count, exact: isExact });
      }
      const key = readIdempotencyKey(request);
      const id = key === undefined ? undefined : stableId("rpl", `${wish.boundTo ?? ""}\0idempotency-key\0${key}`);
      const { replay, isRepeat } = await bulkReplays.start({ ...wish, id });
      if (isRepeat) reply.header("idempotency-replayed", "true");
      return reply.code(202).send(presentReplay(replay));
    },
  };
}

/** Another tenant's deliveries are none of a tenant's key's business. */
function ofTenant(filter: ReplayFilter, boundTo: string | undefined): ReplayFilter {
  if (boundTo === undefined || filter.tenant_id === undefined || filter.tenant_id === boundTo) return filter;
  throw new PosthornError("forbidden", `This key is bound to the tenant ${boundTo}; leave tenant_id out.`);
}
