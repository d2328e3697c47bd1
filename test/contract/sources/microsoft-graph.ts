import { microsoftGraph } from "../../../src/sources/microsoft-graph.ts";
import { JSON_TYPE, SIGNED_AT, arrive, json, settingsOf, withBody, type SourceFixture } from "../source-fixture.ts";

const SECRET = "a state that only we and Graph know";

function notification(clientState: string | undefined, more: object = {}): object {
  return {
    subscriptionId: "7f105c7d-2dc5-4530-97cd-4e7ae6534c07",
    changeType: "created",
    resource: "Users/1/Messages/2",
    resourceData: { "@odata.type": "#Microsoft.Graph.Message", "@odata.etag": 'W/"CQAAA"', id: "2" },
    clientState,
    ...more,
  };
}

const BODY = json({ value: [notification(SECRET), notification(SECRET, { changeType: "updated" })] });

export const fixture: SourceFixture = {
  kind: microsoftGraph,
  settings: settingsOf("graph", [SECRET]),
  sign: (at, body = BODY) => arrive("graph", { at, body, headers: JSON_TYPE }),
  expected: {
    type: "microsoft-graph.message.created",
    identity: '7f105c7d-2dc5-4530-97cd-4e7ae6534c07:created:Users/1/Messages/2:W/"CQAAA"',
  },
  handshakes: ["GET", "POST"].map((method) => ({
    request: arrive("graph", {
      at: SIGNED_AT,
      method,
      query: "validationToken=Validation%3A+Testing+%3Cb%3E",
      headers: {},
    }),
    answer: {
      status: 200,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
      body: "Validation: Testing <b>",
    },
  })),
  coversBody: false,
  forgeries: [
    ...["another", SECRET.slice(1), `${SECRET} `, "", undefined].map((state) => ({
      name: `a second notification with the clientState ${String(state)}`,
      request: (at: number) => withBody(fixture.sign(at), json({ value: [notification(SECRET), notification(state)] })),
    })),
    { name: "no notification", request: (at) => withBody(fixture.sign(at), json({ value: [] })) },
    { name: "no list", request: (at) => withBody(fixture.sign(at), json({ value: notification(SECRET) })) },
  ],
};
