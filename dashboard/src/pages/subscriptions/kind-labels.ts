/** How people call the kinds of destinations. */
const LABELS: Readonly<Record<string, string>> = {
  http: "HTTP (webhook)",
  email: "E-mail",
  sms: "SMS",
  batch: "Batch files",
  amqp: "RabbitMQ",
  "azure-service-bus": "Azure Service Bus",
  "azure-storage-queue": "Azure Storage queue",
};

export function labelOfKind(kind: string): string {
  return LABELS[kind] ?? kind;
}
