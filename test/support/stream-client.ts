import { get, type IncomingMessage } from "node:http";
import { until } from "./api-client.ts";
import { ADMIN_KEY } from "./test-gateway.ts";

/** A client of the live stream: reads frames as a browser's EventSource does, and keeps all of them. */
export interface TestStream {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly frames: readonly TestFrame[];
  /** What came, byte for byte. */
  text(): string;
  /** As EventSource would send it. */
  lastEventId(): string | undefined;
  /** Of one type, their data. */
  of(name: string): readonly FrameData[];
  /** Resolves to them when there are so many of a type. */
  received(name: string, count: number): Promise<readonly FrameData[]>;
  readonly isEnded: boolean;
  ended(): Promise<void>;
  pause(): void;
  resume(): void;
  close(): void;
}

export interface TestFrame {
  name: string;
  id: string | undefined;
  data: FrameData;
}

// What a frame holds is what a test says of it.
export type FrameData = Record<string, unknown> & {
  event_id: string;
  event_type: string;
  tenant_id: string;
  attempt: { number: number; result: string };
};

export interface TestStreamOptions {
  query?: string;
  key?: string;
  lastEventId?: string | undefined;
}

export function openStream(url: string, options: TestStreamOptions = {}): Promise<TestStream> {
  const { query = "", key = ADMIN_KEY, lastEventId } = options;
  const headers = {
    authorization: `Bearer ${key}`,
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
  return new Promise((resolve, reject) => {
    const request = get(`${url}/api/v1/stream?${query}`, { agent: false, headers }, (response) => {
      resolve(readStream(response, lastEventId));
    });
    request.on("error", reject);
  });
}

function readStream(response: IncomingMessage, lastEventId: string | undefined): TestStream {
  const frames: TestFrame[] = [];
  let [text, rest, name, data] = ["", "", "", ""];
  let id = lastEventId;
  let isEnded = false;

  function takeLine(line: string): void {
    if (line === "") {
      if (data !== "") frames.push({ name, id, data: JSON.parse(data) as FrameData });
      [name, data] = ["", ""];
      return;
    }
    const at = line.indexOf(":");
    const [field, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (field === "id") id = value;
    if (field === "event") name = value;
    if (field === "data") data += value;
  }

  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    // Each of these ends a line (WHATWG HTML §9.2.6).
    const lines = (rest + chunk).split(/\r\n|\n|\r/);
    rest = lines.pop() ?? "";
    lines.forEach(takeLine);
  });
  response.on("error", () => undefined).on("close", () => (isEnded = true));
  const of = (type: string) => frames.filter((frame) => frame.name === type).map((frame) => frame.data);

  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    frames,
    text: () => text,
    lastEventId: () => id,
    of,
    async received(type, count) {
      await until(() => of(type).length >= count, undefined, `${count} frames of ${type}`);
      return of(type);
    },
    get isEnded() {
      return isEnded;
    },
    ended: () => until(() => isEnded, undefined, "the end of the stream"),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  };
}
