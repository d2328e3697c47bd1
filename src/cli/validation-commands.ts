import { Option, type Command } from "commander";
import { VALIDATION_FORMATS } from "../domain/validation.ts";
import { addClientOptions, addPageOptions, refuseWords } from "./client-commands.ts";

const load = () => import("./validations.ts");

export function addValidationCommands(program: Command): void {
  const validations = program
    .command("validations")
    .description("what the webhooks of an endpoint must be like: list, put, try out, bring back");
  addPageOptions(addClientOptions(validations.command("list", { isDefault: true })))
    .description("list what is in force")
    .allowExcessArguments()
    .action(async (flags: object, command: Command) => {
      refuseWords(command, validations);
      await (await load()).runListValidations(flags);
    });
  addFormat(addClientOptions(validations.command("get <endpoint>")))
    .description("print a validation as it was given")
    .option("--version-number <number>", "an earlier one")
    .action(async (endpoint: string, flags: object) => (await load()).runGetValidation(endpoint, flags));
  addClientOptions(validations.command("put <endpoint> <file>"))
    .description("put a JSON Schema, an XML Schema or rules into force; - reads standard input")
    .action(async (endpoint: string, file: string, flags: object) =>
      (await load()).runPutValidation(endpoint, file, flags),
    );
  addFormat(addClientOptions(validations.command("delete <endpoint>")))
    .description("end a validation; it can be brought back")
    .action(async (endpoint: string, flags: object) => (await load()).runDeleteValidation(endpoint, flags));
  addPageOptions(addClientOptions(validations.command("versions <endpoint>")))
    .description("list the versions of a validation, the latest first")
    .action(async (endpoint: string, flags: object) => (await load()).runListVersions(endpoint, flags));
  addClientOptions(validations.command("rollback <endpoint> <version>"))
    .description("bring an earlier version back into force")
    .action(async (endpoint: string, version: string, flags: object) =>
      (await load()).runRollBack(endpoint, version, flags),
    );
  addClientOptions(validations.command("test <endpoint> <file>"))
    .description("check a payload, as a webhook with it would be; - reads standard input")
    .option("--content-type <type>", "of the payload (default: by its looks)")
    .option("--version-number <number>", "by an earlier version")
    .action(async (endpoint: string, file: string, flags: object) =>
      (await load()).runTestValidation(endpoint, file, flags),
    );
  validations.addHelpText(
    "after",
    `
Without a command it lists. \`test\` ends with 1 when the payload does not pass.

Examples:
  posthorn validations put orders order.schema.json
  posthorn validations put orders order.xsd
  posthorn validations test orders order.json
  posthorn validations versions orders
  posthorn validations rollback orders 3`,
  );
}

function addFormat(command: Command): Command {
  return command.addOption(
    new Option("--format <format>", "which one, where there are two").choices(VALIDATION_FORMATS),
  );
}
