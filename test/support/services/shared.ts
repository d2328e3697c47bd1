// The services that test files share: from the environment if it names one, else one that the run starts. Each test
// file takes care that it meets nobody else there, by names of its own; on RabbitMQ it has a virtual host of its own,
// except on one from the environment.
import { get } from "node:http";
import type { TestContext } from "vitest";
import { skipWithoutService } from "../skip.ts";
import { PROVIDER_VARIABLE } from "./provider.ts";

/** The URL of a virtual host, or a skipped test. */
export function useRabbitMq(context: TestContext): Promise<string> {
  return useService(context, "RabbitMQ", "rabbitmq", process.env["POSTHORN_TEST_AMQP_URL"]);
}

/** The connection string of an account of Azure Storage, or a skipped test. */
export function useAzurite(context: TestContext): Promise<string> {
  return useService(context, "Azurite", "azurite", process.env["POSTHORN_TEST_STORAGE_CONNECTION_STRING"]);
}

/** By file: the tests of one share what they were given. */
const given = new Map<string, Promise<string | undefined>>();

async function useService(
  context: TestContext,
  name: string,
  path: string,
  fromEnvironment: string | undefined,
): Promise<string> {
  if (fromEnvironment !== undefined && fromEnvironment !== "") return fromEnvironment;
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
