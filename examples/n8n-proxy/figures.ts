export interface N8nFigures {
  /** Orders that the shop sent, and those that the gateway accepted. */
  sent: number;
  accepted: number;
  /** How often each status was the answer. */
  answers: Readonly<Record<number, number>>;
  /** Workflows that n8n ran, and orders that it ran more than once. */
  ran: number;
  repeated: number;
  deadLetters: number;
  mode: string;
}

export function countByStatus(statuses: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const MEANINGS: Readonly<Record<number, string>> = {
  200: "forwarded",
  202: "kept for later",
  401: "wrong token",
  422: "invalid",
};

export function describeAnswers(answers: N8nFigures["answers"]): string {
  return Object.entries(answers)
    .map(([status, count]) => `${count} × ${status} (${MEANINGS[Number(status)] ?? "other"})`)
    .join(", ");
}

export const describeRuns = ({ ran, repeated }: N8nFigures) =>
  `${ran}, ${repeated === 0 ? "none of them twice" : `${repeated} of them again`}`;
