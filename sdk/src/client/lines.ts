import { PosthornConnectionError } from "./api-error.ts";
import { parseJson } from "./json.ts";
import type { Opened } from "./transport.ts";

/** The text of a body, piece by piece, until it ends or nothing comes for too long. */
export async function* readText({ body, deadline }: Opened): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      deadline.extend();
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    deadline.end();
    // Also when the reader stops early: the connection is not needed any more.
    await reader.cancel().catch(() => undefined);
  }
}

/** A value for each line; what is cut off in the middle of one is an error and not the end. */
export async function* readLines<Line>(open: () => Promise<Opened>): AsyncGenerator<Line> {
  const opened = await open();
  let rest = "";
  try {
    for await (const text of readText(opened)) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield parseJson(line) as Line;
    }
  } catch (error) {
    throw explainLoss(error, opened);
  }
  if (rest !== "")
    throw new PosthornConnectionError("unreachable", "The gateway stopped before the end of the export.");
}

function explainLoss(error: unknown, { deadline }: Opened): unknown {
  if (deadline.isOver) return new PosthornConnectionError("timeout", "Nothing more of the export came in time.", error);
  if (deadline.signal.aborted || error instanceof SyntaxError) return error;
  return new PosthornConnectionError("unreachable", "The connection was lost before the end of the export.", error);
}
