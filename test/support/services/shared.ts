// The services that test files share: from the environment if it names one, else one that the run starts. Each test
// file takes care that it meets nobody else there, by names of its own; on RabbitMQ it has a virtual host of its own,
// except on one from the environment.
import { get } from "node:http";
import type { TestContext } from "vitest";
import { skipWithoutService } from "../skip.ts";
import { PROVIDER_VARIABLE, type RabbitMqPlace } from "./provider.ts";

/** The URL of a virtual host, or a skipped test. */
export async function useRabbitMq(context: TestContext): Promise<string> {
  return process.env["POSTHORN_TEST_AMQP_URL"] || (await useRabbitMqPlace(context)).url;
}

/** With its management and a user of few rights; never one from the environment, which need not have them. */
export async function useRabbitMqPlace(context: TestContext): Promise<RabbitMqPlace> {
  return JSON.parse(await useService(context, "RabbitMQ", "rabbitmq")) as RabbitMqPlace;
}

/** The connection string of an account of Azure Storage, or a skipped test. */
export async function useAzurite(context: TestContext): Promise<string> {
  return process.env["POSTHORN_TEST_STORAGE_CONNECTION_STRING"] || useService(context, "Azurite", "azurite");
}

/** The address of the run's Chromium, or a skipped test. */
export function useChromium(context: TestContext): Promise<string> {
  return useService(context, "Chromium", "chromium");
}

/** By file: the tests of one share what they were given. */
const given = new Map<string, Promise<string | undefined>>();

async function useService(context: TestContext, name: string, path: string): Promise<string> {
  const key = `${path} ${context.task.file.filepath}`;
  const asked = given.get(key) ?? ask(path);
  given.set(key, asked);
  return (await asked) ?? skipWithoutService(context, name);
}

function ask(path: string): Promise<string | undefined> {
  const provider = process.env[PROVIDER_VARIABLE];
  if (provider === undefined) throw new Error("services are provided by test/support/services/provider.ts only");
  return new Promise((resolve, reject) => {
    const request = get(`${provider}/${path}`, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        if (response.statusCode === 500) reject(new Error(text));
        else resolve(response.statusCode === 200 ? text : undefined);
      });
    });
    request.on("error", reject);
  });
}
