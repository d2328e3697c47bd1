/** A slow kind of destination with a state: it opens a session first, counts what it sends there, and can be asked how it is. */
import { Type, type Static } from "typebox";
import { keepOwnRecord, presentOwnRecord } from "../../src/destinations/own-record.ts";
import { secretSettings } from "../../src/destinations/secret-settings.ts";
import { ONE_BY_ONE, type Attempt } from "../../src/destinations/sender.ts";
import type { KindWithSender } from "../../src/destinations/senders.ts";
import { DELIVERED, failed, failedHere, gone, refused, type Outcome } from "../../src/model/outcome.ts";

const SessionSettings = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 100 }),
    password: Type.String({ minLength: 1 }),
    is_checked: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
type SessionSettings = Static<typeof SessionSettings>;

export type Mood = "well" | "refusing" | "failing" | "down" | "hanging" | "gone";

export interface SessionHost {
  /** Event ids with their place in the session that they were sent in. */
  readonly taken: readonly { eventId: string; session: number; place: number }[];
  readonly checks: number;
  mood: Mood;
}

/** How long a session takes to open, and each delivery then. */
const STEP_MS = 40;

interface Session {
  number: number;
  sent: number;
}

export function createSessionKind(name = "session"): { kind: KindWithSender; host: SessionHost } {
  const taken: { eventId: string; session: number; place: number }[] = [];
  let checks = 0;
  let sessions = 0;
  const host: SessionHost = {
    taken,
    get checks() {
      return checks;
    },
    mood: "well",
  };

  const kind: KindWithSender<SessionSettings> = {
    name,
    settings: SessionSettings,
    healthSettings: ["is_checked"],
    check: ({ host: of }) => (of.includes(" ") ? [{ field: "host", message: "must not contain spaces" }] : []),
    prepare: (settings) => ({
      destination: settings,
      place: `session://${settings.host}`,
      health: settings.is_checked === true ? { kind: name, url: `session://${settings.host}` } : undefined,
    }),
    secrets: secretSettings<SessionSettings>(["password"], ["host"]),
    present: ({ host: of, is_checked: isChecked = false }) => ({ host: of, password: "***", is_checked: isChecked }),
    presentRecord: presentOwnRecord,
    open({ clock }) {
      const open = new Map<string, Session>();
      const running = new Set<() => void>();

      function sessionFor({ host: of }: SessionSettings): Session {
        let session = open.get(of);
        if (session === undefined) open.set(of, (session = { number: ++sessions, sent: 0 }));
        return session;
      }

      function answerOf({ event, subscription }: Attempt): { outcome: Outcome; session: Session | undefined } {
        const settings = subscription.destination as SessionSettings;
        if (host.mood === "down") {
          // Whoever comes back has forgotten it.
          open.delete(settings.host);
          return { outcome: failed("connection lost", { result: "connection_error" }), session: undefined };
        }
        const session = sessionFor(settings);
        const place = ++session.sent;
        switch (host.mood) {
          case "refusing":
            return { outcome: refused("550 no such mailbox"), session };
          case "failing":
            return { outcome: failed("451 try later", { says: "doubtful" }), session };
          case "gone":
            return { outcome: gone("the account is closed"), session };
          default:
            taken.push({ eventId: event.id, session: session.number, place });
            return { outcome: DELIVERED, session };
        }
      }

      return {
        limitsOf: () => ONE_BY_ONE,
        send([attempt], done) {
          if (attempt === undefined) return done([]);
          const startedAt = clock.wall();
          const startedNow = clock.now();
          const { timeoutMs, place } = attempt.subscription;
          const end = (outcome: Outcome, session?: Session) => {
            if (!running.delete(abort)) return;
            deadline.cancel();
            const record = keepOwnRecord(place, { session: session?.number ?? null, sent: session?.sent ?? 0 });
            done([{ outcome, startedAt, durationMs: clock.now() - startedNow, record }]);
          };
          const abort = () => end(failedHere("the gateway stopped"));
          running.add(abort);
          const deadline = clock.setTimer(clock.now() + timeoutMs, () =>
            end(failed(`no answer within ${timeoutMs} ms`, { result: "timeout" })),
          );
          if (host.mood === "hanging") return;
          clock.setTimer(clock.now() + STEP_MS, () => {
            if (!running.has(abort)) return;
            const { outcome, session } = answerOf(attempt);
            end(outcome, session);
          });
        },
        checkHealth(_, __, done) {
          checks++;
          clock.setTimer(clock.now() + 1, () => done(host.mood === "well" ? undefined : `it is ${host.mood}`));
        },
        async close() {
          for (const abort of running) abort();
          open.clear();
        },
      };
    },
  };
  return { kind, host };
}
