import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSessionReceiver } from "@azure/service-bus";

/** Gets the messages of a receiver. `onFault` gets the error that ends it; no more messages come after that. */
export interface Intake {
  onMessage(
    receiver: ServiceBusReceiver,
    message: ServiceBusReceivedMessage,
    renew: () => Promise<unknown>,
  ): Promise<void>;
  onFault(error: unknown): void;
  /** The service has answered. */
  onAnswer(): void;
}

export const RECEIVER_OPTIONS = {
  receiveMode: "peekLock",
  // The package would parse JSON and write it again: bytes must stay unchanged.
  skipParsingBodyAsJson: true,
  // The holder of a message renews its lock for as long as needed; the package would stop after five minutes.
  maxAutoLockRenewalDurationInMs: 0,
} as const;

export interface Receiving {
  /** No more messages come; those that came can still be settled. */
  pause(): Promise<void>;
  stop(): Promise<void>;
}

export function subscribeTo(
  receiver: ServiceBusReceiver | ServiceBusSessionReceiver,
  intake: Intake,
  maxConcurrentCalls: number,
  renew: (message: ServiceBusReceivedMessage) => Promise<unknown>,
): Receiving {
  const subscription = receiver.subscribe(
    {
      processMessage: (message) => intake.onMessage(receiver, message, () => renew(message)),
      processError: async ({ error }) => intake.onFault(error),
    },
    { maxConcurrentCalls, autoCompleteMessages: false },
  );
  return {
    pause: () => subscription.close(),
    async stop() {
      await subscription.close();
      await receiver.close();
    },
  };
}
