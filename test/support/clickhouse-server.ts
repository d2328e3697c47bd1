import { gunzipSync } from "node:zlib";
import { openSinkServer, type SinkAnswer, type SinkRequest, type SinkServer } from "./sink-server.ts";

/** As much of ClickHouse's HTTP interface as an INSERT needs, with its words for what it refuses. */
export interface ClickHouseServer {
  url: string;
  /** The rows of the table, in the order in which they were inserted. */
  rows: readonly Row[];
  /** Inserts that were asked for, refused or not. */
  inserts: readonly Insert[];
  requests: readonly SinkRequest[];
  /** What is answered instead of trying the next inserts; until undefined is returned. */
  interrupt(answer: (insert: Insert, index: number) => SinkAnswer | undefined): void;
  /** Whether the answer to an insert that was made gets lost. */
  loseAnswers(isLost: boolean): void;
  close(): Promise<void>;
}

export type Row = Readonly<Record<string, unknown>>;

export interface Insert {
  query: string;
  token: string;
  settings: Readonly<Record<string, string>>;
  lines: readonly string[];
}

export interface ClickHouseOptions {
  /** `database.table` */
  table?: string;
  /** What is wrong with a row, as ClickHouse would say it. */
  refuse?: (row: Row) => { code: number; status: number; text: string } | undefined;
  user?: { name: string; password: string };
}

/** CANNOT_PARSE_INPUT_ASSERTION_FAILED */
const CANNOT_PARSE = 27;
const AUTHENTICATION_FAILED = 516;
const UNKNOWN_TABLE = 60;
const SYNTAX_ERROR = 62;

export async function openClickHouse(options: ClickHouseOptions = {}): Promise<ClickHouseServer> {
  const { table = "analytics.events", refuse, user } = options;
  const rows: Row[] = [];
  const inserts: Insert[] = [];
  const tokens = new Set<string>();
  let interrupt: Parameters<ClickHouseServer["interrupt"]>[0] = () => undefined;
  let isLost = false;
  const sink: SinkServer = await openSinkServer({ answer: answer });

  function exception(status: number, code: number, text: string): SinkAnswer {
    return {
      status,
      headers: { "x-clickhouse-exception-code": String(code), "content-type": "text/plain; charset=UTF-8" },
      body: `Code: ${code}. DB::Exception: ${text} (version 25.8.1.1)\n`,
    };
  }

  function answer(request: SinkRequest): SinkAnswer {
    const { searchParams } = new URL(request.path, "http://clickhouse");
    const { query = "", insert_deduplication_token: token = "", ...settings } = Object.fromEntries(searchParams);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(request.body) : request.body;
    const lines = body.toString("utf8").split("\n").slice(0, -1);
    const insert: Insert = { query, token, settings, lines };
    const interrupted = interrupt(insert, inserts.push(insert) - 1);
    if (interrupted !== undefined) return interrupted;
    const login = user && `Basic ${Buffer.from(`${user.name}:${user.password}`).toString("base64")}`;
    if (login !== undefined && request.headers["authorization"] !== login) {
      return exception(403, AUTHENTICATION_FAILED, `${user?.name}: Authentication failed: password is incorrect.`);
    }
    const named = /^INSERT INTO `(\w+)`\.`(\w+)` FORMAT JSONEachRow$/.exec(query);
    if (named === null) return exception(400, SYNTAX_ERROR, `Syntax error: failed at position 1: ${query}.`);
    if (`${named[1]}.${named[2]}` !== table) {
      return exception(404, UNKNOWN_TABLE, `Table ${named[1]}.${named[2]} does not exist.`);
    }
    const parsed: Row[] = [];
    for (const [index, line] of lines.entries()) {
      const row = parse(line);
      const at = `: (at row ${index + 1})\n: While executing ParallelParsingBlockInputFormat.`;
      if (row === undefined)
        return exception(400, CANNOT_PARSE, `Cannot parse input: expected '{' before: '${line}'${at}`);
      const problem = refuse?.(row);
      if (problem !== undefined) return exception(problem.status, problem.code, `${problem.text}${at}`);
      parsed.push(row);
    }
    if (!tokens.has(token)) rows.push(...parsed);
    tokens.add(token);
    return isLost
      ? "hang"
      : { status: 200, headers: { "x-clickhouse-summary": `{"written_rows":"${parsed.length}"}` } };
  }

  return {
    url: sink.url,
    rows,
    inserts,
    requests: sink.requests,
    interrupt: (next) => void (interrupt = next),
    loseAnswers: (next) => void (isLost = next),
    close: () => sink.close(),
  };
}

/** A row is an object. */
function parse(line: string): Row | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Row) : undefined;
  } catch {
    return undefined;
  }
}
