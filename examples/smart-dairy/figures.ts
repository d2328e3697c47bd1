import type { ExampleGateway } from "../support/gateway.ts";
import type { Partner } from "./world/partner.ts";

export interface DairyFigures {
  /** Events that were accepted, by producer. */
  events: Readonly<Record<"erp" | "mobile" | "iot", number>>;
  partners: Readonly<Record<string, PartnerFigures>>;
  emails: number;
  sms: number;
  rows: number;
  batches: number;
  /** Whether orders came by RabbitMQ. */
  hasBus: boolean;
}

export interface PartnerFigures {
  delivered: number;
  deadLetters: number;
  status: string;
}

/** What the gateway says of a partner. */
export async function readPartner(
  { api }: ExampleGateway,
  { name }: Partner,
): Promise<PartnerFigures & { id: string }> {
  const { json } = await api.get("/api/v1/subscriptions?limit=100");
  const all = json["data"] as { id: string; name: string; status: string }[];
  const { id = "", status = "missing" } = all.find((one) => one.name === name) ?? {};
  const of = `subscription_id=${id}`;
  const [delivered, dead] = await Promise.all([api.deliveries(`status=delivered&${of}`), api.deadLetters(of)]);
  return { id, status, delivered: delivered.length, deadLetters: dead.length };
}

export function describePartner({ delivered, deadLetters, status }: PartnerFigures): string {
  const dead = deadLetters === 0 ? "" : `, ${deadLetters} dead letters`;
  return `${delivered} delivered${dead}${status === "active" ? "" : `, ${status}`}`;
}
