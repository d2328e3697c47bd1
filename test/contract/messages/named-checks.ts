import { expect } from "vitest";
import { until } from "../../support/api-client.ts";
import type { PulledCheck } from "./checks.ts";
import { idOf } from "./delivered-checks.ts";
import { withPullingGateway } from "./gateway.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** `id_from`. */
export const NAMED_CHECKS: readonly PulledCheck[] = [
  {
    name: "knows a message by what id_from finds in it, else by its own id, however often it comes again",
    run: (harness) =>
      withPullingGateway(
        harness,
        {
          source: { acknowledge: "delivered", body: "raw", max_deliveries: 2 },
          settings: { id_from: "body:/id" },
        },
        async ({ place, gateway, sink, accepts, restart, listEvents }) => {
          await gateway.request("PATCH", `/api/v1/subscriptions/${await idOf(gateway)}`, {
            body: JSON.stringify({ status: "inactive" }),
            headers: JSON_TYPE,
          });
          const send = (body: string, id: string | undefined) =>
            place.send(body, { id, headers: JSON_TYPE, isBare: true });
          await send('{"id":"order-1"}', "a");
          await send('{"other":2}', "b");
          // The same order in a message that has no id of its own.
          await send('{"id":"order-1","again":true}', undefined);
          for (let starts = 1; starts <= 4; starts++) {
            await until(async () => accepts.calls >= 3 && (await listEvents()).length >= 2);
            expect([await place.countLeft(), await place.listParked()]).toEqual([3, []]);
            expect(await listEvents()).toHaveLength(2);
            accepts.calls = 0;
            if (starts < 4) await restart();
          }
          await gateway.post(`/api/v1/subscriptions/${await idOf(gateway)}/resume`);
          await until(async () => {
            gateway.moveClock(1000);
            return (await place.countLeft()) === 0;
          });
          expect([sink.requests.length, (await listEvents()).length, await place.listParked()]).toEqual([2, 2, []]);
        },
      ),
  },
];
