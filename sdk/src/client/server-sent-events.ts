export interface ServerSentEvent {
  event: string;
  data: string;
  id: string | undefined;
}

export interface ServerSentEvents {
  /** What is complete with this text. */
  take(text: string): ServerSentEvent[];
  /** Of the last event or comment that came with one. */
  readonly lastEventId: string | undefined;
  /** What the server said by `retry:`. */
  readonly retryMs: number | undefined;
}

/** Reads a stream of events as WHATWG HTML §9.2.6 says. */
export function createServerSentEvents(lastEventId?: string): ServerSentEvents {
  let [rest, event, id, retryMs] = ["", "", lastEventId, undefined as number | undefined];
  let data: string[] = [];
  /** Goes into force with the blank line behind it: an event that was cut off is sent again. */
  let nextId = lastEventId;

  function takeField(name: string, value: string): void {
    if (name === "event") event = value;
    if (name === "data") data.push(value);
    if (name === "id" && !value.includes("\0")) nextId = value;
    if (name === "retry" && /^\d+$/.test(value)) retryMs = Number(value);
  }

  function finish(): ServerSentEvent[] {
    id = nextId;
    const found = data.length === 0 ? [] : [{ event: event || "message", data: data.join("\n"), id }];
    [event, data] = ["", []];
    return found;
  }

  function takeLine(line: string): ServerSentEvent[] {
    if (line === "") return finish();
    const colon = line.indexOf(":");
    if (colon === -1) takeField(line, "");
    else takeField(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
    return [];
  }

  return {
    take(text) {
      // A carriage return at the end may be the first half of a line end.
      const whole = rest + text;
      const end = whole.endsWith("\r") ? whole.length - 1 : whole.length;
      const lines = whole.slice(0, end).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? "") + whole.slice(end);
      return lines.flatMap(takeLine);
    },
    get lastEventId() {
      return id;
    },
    get retryMs() {
      return retryMs;
    },
  };
}
