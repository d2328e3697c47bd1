import type { FastifyReply, FastifyRequest } from "fastify";
import { PosthornError } from "../../model/errors.ts";
import { stableId } from "../../model/ids.ts";
import type { ReplayFilter, ReplayKind } from "../../model/replay.ts";
import type { BulkReplays } from "../../replays/bulk-replays.ts";
import { readIdempotencyKey } from "../once.ts";
import { presentReplay } from "../present/replay.ts";

interface Selection {
  filter?: ReplayFilter | undefined;
  /** Required instead of a filter, so that nobody selects everything by mistake. */
  all?: true | undefined;
  plan?: boolean | undefined;
}

/** The answer of all routes that start a job. */
export function createReplayAnswers(bulkReplays: BulkReplays) {
  function toWish(request: FastifyRequest, kind: ReplayKind, { filter, all }: Selection) {
    if ((filter === undefined) === (all === undefined)) {
      throw new PosthornError("invalid_field", "Send either filter, to select some, or all: true.", {
        field: "filter",
      });
    }
    const boundTo = request.caller?.tenantId;
    return { kind, filter: ofTenant(filter ?? {}, boundTo), boundTo };
  }

  return {
    toWish,

    /** 200 with a count for a plan, otherwise 202 with the job. */
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

/** A key that is bound to a tenant must not select deliveries of another tenant. */
function ofTenant(filter: ReplayFilter, boundTo: string | undefined): ReplayFilter {
  if (boundTo === undefined || filter.tenant_id === undefined || filter.tenant_id === boundTo) return filter;
  throw new PosthornError("forbidden", `This key is bound to the tenant ${boundTo}. Leave out tenant_id.`);
}
