// The load generator of the bench: that of the trials, with the time of sending in each body. Counts answers by status and
// measures each.
import { flood, openLoadConnection, writeRequest } from "../../dist/cli/trial/load.js";
import { describeLatencies } from "../statistics.mjs";
import { answerWith, nowUs } from "./answering.mjs";
import { createBody, writeStamp } from "./stamp.mjs";

answerWith({
  async flood({ durationMs, count, ...target }) {
    const run = await openRun(target);
    const startedUs = nowUs();
    await flood(run.connections, { durationMs, count }, (connection, onAnswer) => {
      connection.onAnswer = onAnswer;
      connection.send(nowUs());
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
  const request = writeRequest(port, path, body, headers);
  const tally = { statuses: {}, latenciesUs: [] };
  const stampAt = given === undefined ? request.length - body.length : undefined;
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

async function openConnection(port, request, stampAt, tally) {
  // Its own copy, because the socket may still hold the last one when the stamp is written.
  const own = Buffer.from(request);
  let stampUs = 0;
  const { send, close } = await openLoadConnection(port, () => {
    throw new Error("the server closed a connection under load");
  });

  function take(status) {
    tally.statuses[status] = (tally.statuses[status] ?? 0) + 1;
    tally.latenciesUs.push(nowUs() - stampUs);
    connection.onAnswer(status >= 200 && status < 300);
  }

  const connection = {
    onAnswer: undefined,
    send(us) {
      stampUs = us;
      if (stampAt !== undefined) writeStamp(own, stampAt, us);
      send(own, take);
    },
    close,
  };
  return connection;
}
