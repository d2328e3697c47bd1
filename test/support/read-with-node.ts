import { Agent, request, type ClientRequest, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** What came of an answer to a POST. */
export interface AnswerRead {
  /** `cut`: it was not over when the connection ended. */
  verdict: "accepted" | "refused" | "cut";
  status: number | undefined;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Another request may follow on the connection. */
  isReusable: boolean;
  problem: string;
}

/** Reads an answer with the HTTP client of Node itself; no socket takes part. */
export async function readWithNode(pieces: readonly Buffer[]): Promise<AnswerRead> {
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const agent = new OneConnection(connection);
  const sent = request({ method: "POST", host: "destination.example", agent });
  const read = watch(sent);
  sent.end();
  // The agent hands its connection over in a turn of its own.
  await nextTurn();
  for (const piece of pieces) connection.push(Buffer.from(piece));
  await nextTurn();
  await nextTurn();
  const isReusable = agent.mayFollow;
  connection.push(null);
  await nextTurn();
  await nextTurn();
  sent.destroy();
  connection.destroy();
  await nextTurn();
  agent.destroy();
  const { answer, error, body } = read;
  if (answer?.complete === true) {
    const headers = joinHeaders(answer.rawHeaders);
    return { verdict: "accepted", status: answer.statusCode, headers, body: body.join(""), isReusable, problem: "" };
  }
  const verdict = error === undefined || error.code === "ECONNRESET" ? "cut" : "refused";
  return { verdict, status: undefined, headers: {}, body: "", isReusable: false, problem: error?.message ?? "" };
}

class OneConnection extends Agent {
  readonly #connection: Duplex;
  mayFollow = false;

  constructor(connection: Duplex) {
    super({ keepAlive: true });
    this.#connection = connection;
  }

  override createConnection(): Duplex {
    return this.#connection;
  }

  override keepSocketAlive(): boolean {
    this.mayFollow = true;
    return false;
  }
}

interface Watched {
  answer: IncomingMessage | undefined;
  error: NodeJS.ErrnoException | undefined;
  body: string[];
}

function watch(sent: ClientRequest): Watched {
  const watched: Watched = { answer: undefined, error: undefined, body: [] };
  const note = (error: Error): void => void (watched.error ??= error);
  sent.on("error", note);
  sent.on("response", (answer) => {
    watched.answer = answer;
    answer.on("data", (chunk: Buffer) => watched.body.push(chunk.toString("latin1")));
    answer.on("error", note);
  });
  return watched;
}

/** As our reader gives them: Node itself drops what it knows to be single, and knows cookies. */
function joinHeaders(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] as string).toLowerCase();
    if (name === "__proto__") continue;
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${raw[at + 1]}` : (raw[at + 1] as string);
  }
  return headers;
}
