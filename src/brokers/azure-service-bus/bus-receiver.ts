import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSessionReceiver } from "@azure/service-bus";

/** Takes what a receiver brings. `onFault` is told of what ends it; nothing more comes then. */
export interface Intake {
  onMessage(
    receiver: ServiceBusReceiver,
    message: ServiceBusReceivedMessage,
    renew: () => Promise<unknown>,
  ): Promise<void>;
  onFault(error: unknown): void;
  /** That the service has answered. */
  onAnswer(): void;
}

export const RECEIVER_OPTIONS = {
  receiveMode: "peekLock",
  // The package would parse JSON, and write it anew: bytes are taken as they came.
  skipParsingBodyAsJson: true,
  // Whoever holds a message renews it, for as long as that is wanted; the package would stop after five minutes.
  maxAutoLockRenewalDurationInMs: 0,
} as const;

export interface Receiving {
  /** Nothing more comes; what came can still be settled. */
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
