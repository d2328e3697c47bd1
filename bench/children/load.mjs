// The load generator: prepared bytes over raw keep-alive sockets, so that it takes as little as possible of the cores
// it shares with what it measures. Counts answers by status and measures each.
import { connect } from "node:net";
import { describeLatencies } from "../statistics.mjs";
import { answerWith, nowUs } from "./answering.mjs";
import { createBody, writeStamp } from "./stamp.mjs";

const MAX_RESPONSE_BYTES = 64 * 1024;
const RESEND_AFTER_MS = 100;

answerWith({
  /** Each connection sends its next request when it has the answer to its last: for a time, or so many in all. */
  async flood({ durationMs = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY, ...target }) {
    const run = await openRun(target);
    const startedUs = nowUs();
    const endsUs = startedUs + durationMs * 1000;
    let sent = 0;
    await new Promise((resolve) => {
      let open = run.connections.length;
      const next = (connection) => {
        if (sent < count && nowUs() < endsUs) {
          sent += 1;
          connection.send(nowUs());
        } else {
          open -= 1;
          if (open === 0) resolve();
        }
      };
      for (const connection of run.connections) {
        connection.onAnswer = (_, isOk) => {
          if (isOk) return next(connection);
          // What was refused is sent again, as senders do.
          sent -= 1;
          setTimeout(next, RESEND_AFTER_MS, connection);
        };
      }
      for (const connection of run.connections) next(connection);
    });
    return run.finish(startedUs);
  },

  /** A constant rate, whatever comes back: a request that finds no free connection waits, and its wait counts. */
  async pace({ durationMs, ratePerS, ...target }) {
    const run = await openRun(target);
    const free = [...run.connections];
    const waiting = [];
    let answered = 0;
    let onAnswered = () => {};
    for (const connection of run.connections) {
      connection.onAnswer = () => {
        answered += 1;
        if (waiting.length > 0) connection.send(waiting.shift());
        else free.push(connection);
        onAnswered();
      };
    }
    const startedUs = nowUs();
    const total = Math.round((ratePerS * durationMs) / 1000);
    let sent = 0;
    let latestUs = 0;
    await new Promise((resolve) => {
      onAnswered = () => {
        if (sent === total && answered === total) resolve();
      };
      const timer = setInterval(() => {
        const now = nowUs();
        const due = Math.min(total, Math.floor(((now - startedUs) * ratePerS) / 1_000_000));
        latestUs = Math.max(latestUs, now - startedUs - (sent / ratePerS) * 1_000_000);
        for (; sent < due; sent += 1) {
          // In turn: a connection that is never used is answered 408 when the time for a request is over.
          const connection = free.shift();
          if (connection === undefined) waiting.push(now);
          else connection.send(now);
        }
        if (sent === total) clearInterval(timer);
      }, 1);
    });
    return { ...run.finish(startedUs), generatorLateMs: latestUs / 1000 };
  },
});

/** A body that is given is sent as it is, without the time: what it was signed with stays right. */
async function openRun({ port, path, connections, bodyBytes, body: given, headers = "" }) {
  const body = given === undefined ? createBody(bodyBytes) : Buffer.from(given);
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);
  const tally = { statuses: {}, latenciesUs: [] };
  const stampAt = given === undefined ? head.length : undefined;
  const opened = await Promise.all(
    Array.from({ length: connections }, () => openConnection(port, request, stampAt, tally)),
  );
  return {
    connections: opened,
    finish(startedUs) {
      const seconds = (nowUs() - startedUs) / 1_000_000;
      for (const connection of opened) connection.close();
      const ok = Object.entries(tally.statuses).reduce((sum, [status, n]) => sum + (status.startsWith("2") ? n : 0), 0);
      return {
        startedUs,
        seconds,
        ok,
        refused: tally.latenciesUs.length - ok,
        statuses: tally.statuses,
        perSecond: ok / seconds,
        ...describeLatencies(tally.latenciesUs),
      };
    },
  };
}

/** One request at a time. Where the server closes after an answer, a new socket takes the place of the old one. */
async function openConnection(port, request, stampAt, tally) {
  // Its own copy, because the socket may still hold the last one when the stamp is written.
  const own = Buffer.from(request);
  let stampUs = 0;
  let isClosing = false;
  let socket = await openSocket(port, take);

  function take(status, isLast) {
    tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
    tally.latenciesUs.push(nowUs() - stampUs);
    const isOk = status.startsWith("2");
    if (!isLast) {
      connection.onAnswer(connection, isOk);
      return;
    }
    socket.destroy();
    void openSocket(port, take).then((opened) => {
      socket = opened;
      if (isClosing) socket.destroy();
      else connection.onAnswer(connection, isOk);
    });
  }

  const connection = {
    onAnswer: undefined,
    send(us) {
      stampUs = us;
      if (stampAt !== undefined) writeStamp(own, stampAt, us);
      socket.write(own);
    },
    close() {
      isClosing = true;
      socket.destroy();
    },
  };
  return connection;
}

function openSocket(port, take) {
  return new Promise((resolve, reject) => {
    const buffer = Buffer.allocUnsafe(MAX_RESPONSE_BYTES);
    let rest;
    const socket = connect({
      host: "127.0.0.1",
      port,
      noDelay: true,
      onread: {
        buffer,
        callback(length) {
          const chunk = buffer.subarray(0, length);
          rest = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
          const answer = parseAnswer(rest);
          if (answer === undefined) {
            if (rest === chunk) rest = Buffer.from(chunk);
            return true;
          }
          if (answer.end !== rest.length) throw new Error("more came than one answer");
          rest = undefined;
          take(answer.status, answer.isLast);
          return true;
        },
      },
    });
    socket.once("connect", () => resolve(socket));
    socket.on("error", reject);
    socket.on("end", () => {
      if (!socket.destroyed) throw new Error("the server closed a connection without saying so");
    });
  });
}

/** Undefined until all of it is there. */
function parseAnswer(bytes) {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = bytes.latin1Slice(0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length === null) throw new Error(`an answer without content-length: ${head}`);
  const end = headEnd + 4 + Number(length[1]);
  if (bytes.length < end) return undefined;
  return { end, status: head.slice(9, 12), isLast: /\r\nconnection: *close/i.test(head) };
}
